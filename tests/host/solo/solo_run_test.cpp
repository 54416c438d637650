// SPDX-License-Identifier: Apache-2.0
// A task's whole run by itself, in one bubble and in many.
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tests/host/contract/fed_probe_owner.hpp>
#include <lull/tests/host/contract/probe_owner.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class solo : public testing::Test {
 protected:
  solo() { owner_.prepare(*executor_); }

  std::unique_ptr<executor> const executor_ = make_executor({.kind = executor_kind::threads, .processors = 2});
  probe_owner owner_;
};

constexpr std::uint64_t items_in_all = 17 + 1 + 0 + 30 + 2 + 9;

TEST_F(solo, run_in_one_bubble_ends_with_the_result) {
  solo_run const found = run_to_end(owner_, *executor_);
  EXPECT_TRUE(found.finished);
  EXPECT_EQ(found.items, items_in_all);
  EXPECT_EQ(found.chunks, items_in_all);
  EXPECT_GT(found.items_per_s(), 0);
  EXPECT_EQ(found.bubbles, 1U);
  EXPECT_TRUE(found.drains.empty());  // nothing closed it
  EXPECT_TRUE(owner_.verify().ok) << owner_.verify().message;
}

TEST_F(solo, run_in_many_bubbles_ends_with_the_same) {
  solo_run const found = run_to_end(owner_, *executor_, {.bubble = 1us});
  EXPECT_TRUE(found.finished);
  EXPECT_EQ(found.items, items_in_all);
  EXPECT_TRUE(owner_.verify().ok) << owner_.verify().message;
}

TEST_F(solo, run_in_random_bubbles_ends_with_the_same) {
  for (std::uint64_t const seed : {1, 2, 3}) {
    owner_.reset();
    solo_run const found = run_to_end(owner_, *executor_, {.bubble = 50us, .max_bubble = 5ms, .seed = seed});
    EXPECT_TRUE(found.finished);
    EXPECT_EQ(found.items, items_in_all);
    EXPECT_LE(found.drains.size(), found.bubbles);
    EXPECT_TRUE(owner_.verify().ok) << owner_.verify().message;
  }
}

TEST_F(solo, run_in_random_bubbles_ends_with_the_task_and_not_with_the_bubble) {
  solo_run const found = run_to_end(owner_, *executor_, {.bubble = 1h, .max_bubble = 2h, .at_most = 3h});
  EXPECT_TRUE(found.finished);
  EXPECT_EQ(found.bubbles, 1U);
  EXPECT_TRUE(found.drains.empty());
}

TEST_F(solo, run_in_random_bubbles_that_are_none_is_refused) {
  EXPECT_THROW(run_to_end(owner_, *executor_, {.max_bubble = 5ms}), usage_error);
  EXPECT_THROW(run_to_end(owner_, *executor_, {.bubble = 5ms, .max_bubble = 50us}), usage_error);
}

TEST_F(solo, grain_makes_fewer_chunks_and_the_same_items) {
  solo_run const found = run_to_end(owner_, *executor_, {.grain = 4});
  EXPECT_EQ(found.items, items_in_all);
  EXPECT_LT(found.chunks, items_in_all);
}

TEST_F(solo, run_that_takes_too_long_says_that_it_is_not_finished) {
  probe_owner polling{probe_task::mutant::none,
                      std::numeric_limits<std::uint32_t>::max()};  // in each chunk, until it is left
  polling.prepare(*executor_);
  EXPECT_FALSE(run_to_end(polling, *executor_, {.at_most = 0ns}).finished);
}

TEST_F(solo, runs_add_up) {
  solo_run sum = run_to_end(owner_, *executor_);
  solo_run other;
  other.drains = {3us};
  other.items = 2;
  other.bubbles = 4;
  sum += other;
  EXPECT_FALSE(sum.finished);
  EXPECT_EQ(sum.items, items_in_all + 2);
  EXPECT_EQ(sum.bubbles, 5U);
  EXPECT_EQ(sum.drains.size(), 1U);
}

TEST_F(solo, task_that_starves_is_refused_instead_of_waited_for) {
  starving_owner starving;
  starving.prepare(*executor_);
  EXPECT_THROW(run_to_end(starving, *executor_), usage_error);
}

TEST_F(solo, run_of_a_fed_task_ends_with_the_result_whatever_the_bubbles) {
  for (solo_run_options const& how : {solo_run_options{}, {.bubble = 1us}, {.bubble = 50us, .max_bubble = 5ms}}) {
    fed_probe_owner fed;
    fed.prepare(*executor_);
    solo_run const found = run_to_end(fed, *executor_, how);
    EXPECT_TRUE(found.finished);
    EXPECT_EQ(found.items, 7 * fed_probe::items);
    EXPECT_TRUE(fed.verify().ok) << fed.verify().message;
  }
}

TEST_F(solo, run_of_a_fed_task_without_a_limit_ends_with_the_task) {
  fed_probe_owner fed;
  fed.prepare(*executor_);
  EXPECT_TRUE(run_to_end(fed, *executor_, {.at_most = std::chrono::nanoseconds::max()}).finished);
}

TEST_F(solo, run_throws_what_the_owner_throws_while_it_serves) {
  fed_probe_owner torn{fed_probe_owner::feeds::one_and_throws};
  torn.prepare(*executor_);
  EXPECT_THROW(run_to_end(torn, *executor_), std::runtime_error);
}

TEST_F(solo, task_without_code_for_the_machine_is_refused) {
  job_description const task = owner_.describe();
  EXPECT_TRUE(task.type.threads);
  class codeless final : public task_owner {
   public:
    void prepare(executor&) override {}
    job_description describe() const override { return {}; }
    void reset() override {}
    std::vector<task_array> arrays() const override { return {}; }
    verification verify() override { return {}; }
    std::vector<std::string> write() override { return {}; }
  } none;
  EXPECT_THROW(run_to_end(none, *executor_), usage_error);
}

TEST(percentile, is_the_nearest_rank) {
  EXPECT_EQ(percentile({}, 0.5), 0ns);
  EXPECT_EQ(percentile({3ns, 1ns, 2ns}, 0.5), 2ns);
  EXPECT_EQ(percentile({3ns, 1ns, 2ns}, 0), 1ns);
  EXPECT_EQ(percentile({3ns, 1ns, 2ns, 9ns}, 0.99), 9ns);
}

}  // namespace
}  // namespace lull
