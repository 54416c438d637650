// SPDX-License-Identifier: Apache-2.0
// The slowdown that is assumed of jobs until it is measured.
#include <array>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/host/runtime_recorded.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class assumed : public runtime_recorded {
 protected:
  static runtime_options bounded(double max_slowdown) {
    runtime_options made = options();
    made.max_slowdown = max_slowdown;
    return made;
  }
  /// Returns the chance when it no longer changes.
  static double chance(runtime const& side) {
    double last = -1;
    for (int same = 0; same < 50; std::this_thread::sleep_for(1ms))
      same = std::exchange(last, side.steps().report().chance) == last ? same + 1 : 0;
    return last;
  }
};

/// The assumption holds until steps were measured.
TEST_F(assumed, jobs_begin_as_carefully_as_was_supposed) {
  auto const side = make(bounded(0.005));
  for (auto const& [name, slowdown] : {std::pair{"tame", 0.001}, {"hungry", 0.02}})
    side->steps().assume_slowdown(name, slowdown);
  auto const chance_with = [&](std::string const& name) {
    job made = submit(*side, name);
    await(made, job_state::placed);
    double const found = chance(*side);
    made.cancel();
    await(made, job_state::cancelled);
    return found;
  };
  EXPECT_EQ(chance_with("tame"), 0.5);
  double const hungry = chance_with("hungry");
  EXPECT_GT(hungry, 0.01);
  EXPECT_LT(hungry, 0.19);
  EXPECT_EQ(chance_with("unheard of"), 0.2);
  side->steps().bound_slowdown(0.5);
  EXPECT_EQ(chance_with("hungry"), 0.5) << "it is supposed under another bound, too";
}

/// Their priorities differ, so both are placed.
TEST_F(assumed, of_two_jobs_together_the_hungrier_one_counts) {
  auto const side = make(bounded(0.01));
  for (auto const& [name, slowdown] : {std::pair{"tame", 0.001}, {"tamer", 0.0005}, {"hungry", 0.05}})
    side->steps().assume_slowdown(name, slowdown);
  auto const chance_beside = [&](std::string const& name, std::string const& other) {
    std::array<job, 2> both;
    for (std::size_t i = 0; i < 2; ++i) {
      job_description what = description(i == 0 ? name : other);
      what.priority = 1 - static_cast<int>(i);
      both.at(i) = side->submit(what);
      await(both.at(i), job_state::placed);
    }
    double const found = chance(*side);
    for (job& each : both) each.cancel();
    for (job& each : both) await(each, job_state::cancelled);
    return found;
  };
  EXPECT_EQ(chance_beside("tame", "tamer"), 0.5);
  EXPECT_LT(chance_beside("hungry", "tame"), 0.1);
  EXPECT_LT(chance_beside("hungry", "unheard of"), 0.1);
  EXPECT_EQ(chance_beside("tame", "unheard of"), 0.2) << "no bolder than if nothing were supposed";
  EXPECT_EQ(chance_beside("unheard of", "of neither"), 0.2);
}

TEST_F(assumed, a_far_tamer_job_goes_first_where_that_is_only_supposed) {
  auto const side = make(bounded(0.005));
  side->steps().assume_slowdown("hungry", 0.1);
  side->steps().assume_slowdown("tame", 0.001);
  job const hungry = submit(*side, "hungry");
  await(hungry, job_state::placed);
  job const tame = submit(*side, "tame");
  await(tame, job_state::placed);
  await(hungry, job_state::queued);
}

TEST_F(assumed, what_cannot_be_supposed_is_refused) {
  auto const side = make(bounded(0.005));
  for (double const slowdown :
       {-0.1, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(side->steps().assume_slowdown("job", slowdown), usage_error) << slowdown;
  for (int name = 0; name < 64; ++name) side->steps().assume_slowdown(std::to_string(name), 0.01);
  EXPECT_THROW(side->steps().assume_slowdown("one more", 0.01), limit_error);
  side->steps().assume_slowdown("63", 0.02);
  make(options())->steps().assume_slowdown("job", 0.01);  // without a bound
}

}  // namespace
}  // namespace lull
