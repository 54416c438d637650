// SPDX-License-Identifier: Apache-2.0
// Runs at random instants, and what becomes of those that differ.
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <lull/bench/instants/preempted_runs.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/host/contract/probe_owner.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using bench::preempt_at_random;
using bench::preempted_runs;

class preempted_at_random : public testing::Test {
 protected:
  template <class Owner>
  Owner& prepared(Owner& owner) {
    owner.prepare(*executor_);
    return owner;
  }

  std::unique_ptr<executor> const executor_ = make_executor({.kind = executor_kind::threads, .processors = 2});
};

TEST_F(preempted_at_random, runs_are_counted_until_enough_bubbles_were_cut) {
  probe_owner owner{probe_task::mutant::none, 2, {20'000, 20'000}};
  preempted_runs const found = preempt_at_random(prepared(owner), *executor_, {.instants = 3, .longest = 1ms});
  EXPECT_EQ(found.difference, "");
  EXPECT_GE(found.instants, 3U);
  EXPECT_GE(found.bubbles, found.instants);
  EXPECT_GE(found.runs, 1U);
  EXPECT_EQ(found.arrays, 4U);
  EXPECT_EQ(found.array_bytes, 40'000 * (8 + 4) + 8 + 2 * 8);
  EXPECT_TRUE(owner.verify().ok);  // the last run was finished
}

TEST_F(preempted_at_random, a_run_that_differs_is_the_last) {
  forgetful_owner owner;
  preempted_runs const found = preempt_at_random(prepared(owner), *executor_, {.instants = 1'000'000});
  EXPECT_EQ(found.runs, 1U);
  // the first value behind those of the first phase, 17, which is never written
  EXPECT_EQ(found.difference, "array 'values' differs from the first run's at byte 136");
}

TEST_F(preempted_at_random, an_uninterrupted_run_with_a_wrong_result_is_an_error) {
  // one worker: a mutant's blocks race, and ThreadSanitizer would say so
  std::unique_ptr<executor> const executor = make_executor({.kind = executor_kind::threads, .processors = 1});
  probe_owner owner{probe_task::mutant::skips_a_chunk};
  owner.prepare(*executor);
  try {
    preempt_at_random(owner, *executor, {});
    FAIL();
  } catch (std::runtime_error const& reason) {
    EXPECT_NE(std::string{reason.what()}.find("wrong result"), std::string::npos) << reason.what();
  }
}

TEST_F(preempted_at_random, time_is_bounded) {
  probe_owner without_end{probe_task::mutant::none, std::numeric_limits<std::uint32_t>::max()};
  EXPECT_THROW(preempt_at_random(prepared(without_end), *executor_, {.at_most = 1ms}), limit_error);
  probe_owner short_one;
  EXPECT_THROW(preempt_at_random(prepared(short_one), *executor_, {.instants = 1'000'000'000, .at_most = 100ms}),
               limit_error);
}

}  // namespace
}  // namespace lull
