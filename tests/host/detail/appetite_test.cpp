// SPDX-License-Identifier: Apache-2.0
// Which of several jobs are placed if one slows training far more than another.
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/detail/dispatch/dispatcher.hpp>
#include <lull/host/detail/gate/captured_gates.hpp>
#include <lull/host/detail/gate/gate.hpp>
#include <lull/host/executor.hpp>
#include <lull/tests/support/probe_task.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;

class appetites : public testing::Test {
 protected:
  appetites() {
    gates_.push_back(std::make_unique<gate>(*executor_, 0U, 0, site_limits{}));
    dispatcher_ = std::make_unique<dispatcher>(
        executor_, gates_, captured_, clock_, std::make_shared<wake_signal>(),
        dispatcher_options{.reports = {.min_bubble = default_min_bubble, .max_bubbles = 16}}, log_);
    dispatcher_->places().choose_by(
        [this](std::uint64_t kind) {
          auto const known = chances_.find(kind);
          return known != chances_.end() ? std::optional{known->second} : std::nullopt;
        },
        [] { return 0.2; });
  }
  ~appetites() override {
    dispatcher_->cancel_all();
    EXPECT_TRUE(within_time([this] { return dispatcher_->tick(), dispatcher_->empty(); }));
  }

  static std::uint64_t kind_of(std::string const& name) { return std::hash<std::string>{}(name) | 1; }
  std::shared_ptr<job_core> add(std::string const& name, std::optional<double> chance, int priority = 0) {
    if (chance) chance_of(kind_of(name), *chance);
    job_description what = describe(probe_task{}, name);
    what.priority = priority;
    auto made = std::make_shared<job_core>(executor_, what, 64);
    made->grid = executor_->load(made->kernel(), 0);
    dispatcher_->add(made);
    return made;
  }
  void chance_of(std::uint64_t kind, double chance) { chances_[kind] = chance; }
  /// Ticks until nothing changes; returns the names of the placed jobs.
  std::string placed(std::vector<std::shared_ptr<job_core>> const& jobs) {
    for (int tick = 0; tick < 100; ++tick) {
      dispatcher_->tick();
      std::this_thread::sleep_for(100us);
    }
    std::string found;
    for (auto const& each : jobs) {
      if (each->state() == job_state::placed) found += each->description().name + " ";
    }
    return found;
  }

  std::shared_ptr<executor> const executor_ = make_executor({.kind = executor_kind::threads, .processors = 1});
  std::vector<std::unique_ptr<gate>> gates_;
  captured_gates captured_{*executor_, 1, false, site_limits{}, {}};
  device_clock clock_;
  log_queue log_{{}};
  std::map<std::uint64_t, double> chances_;
  std::unique_ptr<dispatcher> dispatcher_;
};

TEST_F(appetites, alike_stand_together_in_order) {
  auto const first = add("first", 0.9);
  auto const second = add("second", 0.5);
  auto const third = add("third", 0.9);
  EXPECT_EQ(placed({first, second, third}), "first second ");
}

TEST_F(appetites, a_hungry_job_waits_for_a_tame_one) {
  auto const hungry = add("hungry", 0.1);
  EXPECT_EQ(placed({hungry}), "hungry ");
  auto const tame = add("tame", 0.9);
  EXPECT_EQ(placed({hungry, tame}), "tame ");
  EXPECT_EQ(hungry->state(), job_state::queued);
  tame->want(job_core::wish::pause);
  EXPECT_EQ(placed({hungry, tame}), "hungry ");
  tame->want(job_core::wish::run);
  EXPECT_EQ(placed({hungry, tame}), "tame ");
}

TEST_F(appetites, one_that_turns_hungry_gives_way_and_one_that_turns_tame_comes_back) {
  auto const one = add("one", 0.9);
  auto const other = add("other", 0.9);
  EXPECT_EQ(placed({one, other}), "one other ");
  chance_of(kind_of("one"), 0.1);
  EXPECT_EQ(placed({one, other}), "other ");
  chance_of(kind_of("one"), 0.5);
  EXPECT_EQ(placed({one, other}), "one other ");
}

TEST_F(appetites, one_that_is_not_known_is_tried_beside_another_and_waits_if_the_two_are_hungry) {
  auto const tame = add("tame", 0.9);
  auto const unknown = add("unknown", {});
  EXPECT_EQ(placed({tame, unknown}), "tame unknown ");
  chance_of(kind_of("tame") + kind_of("unknown"), 0.1);
  EXPECT_EQ(placed({tame, unknown}), "tame ");
  chance_of(kind_of("unknown"), 0.8);
  EXPECT_EQ(placed({tame, unknown}), "tame unknown ");
}

TEST_F(appetites, one_that_is_not_known_begins_without_a_hungry_one) {
  auto const hungry = add("hungry", 0.01);
  EXPECT_EQ(placed({hungry}), "hungry ");
  auto const unknown = add("unknown", {});
  EXPECT_EQ(placed({hungry, unknown}), "unknown ");
  chance_of(kind_of("hungry") + kind_of("unknown"), 0.001);  // they did run together
  EXPECT_EQ(placed({hungry, unknown}), "hungry ");
  chance_of(kind_of("unknown"), 0.015);
  EXPECT_EQ(placed({hungry, unknown}), "hungry unknown ");
}

TEST_F(appetites, priority_goes_before) {
  auto const hungry = add("hungry", 0.1, 1);
  auto const tame = add("tame", 0.9, 0);
  EXPECT_EQ(placed({hungry, tame}), "hungry tame ");
}

}  // namespace
}  // namespace lull::detail
