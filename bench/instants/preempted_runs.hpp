// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <lull/host/executor.hpp>
#include <lull/host/task/owner.hpp>

namespace lull::bench {

struct instants_wish {
  std::uint64_t instants = 1000;  // bubbles that are cut: closed with blocks at work
  std::chrono::nanoseconds shortest = std::chrono::microseconds{50};
  std::chrono::nanoseconds longest = std::chrono::milliseconds{5};
  std::uint64_t seed = 1;
  std::chrono::nanoseconds at_most = std::chrono::seconds{100};  // for the preempted runs together
};

/// What came of runs in bubbles of random length, each to its end and compared there.
struct preempted_runs {
  std::uint64_t instants = 0;  // at which a bubble was cut
  std::uint64_t bubbles = 0;
  std::uint64_t runs = 0;
  std::uint64_t handed_back = 0;  // chunks
  std::size_t arrays = 0;         // all of the task's
  std::size_t array_bytes = 0;
  std::string verified = {};  // what the owner's verifier found in the uninterrupted run
  /// Of the last run, in words; empty: all ended with the very bits of the uninterrupted one.
  std::string difference = {};
};

/// Runs the task uninterrupted, has its owner verify that, and then runs it again and again in random bubbles, until as
/// many were cut as are wished for or a run differs. What a run leaves out shows: arrays are poisoned before each. The
/// owner is prepared, and at the start. Throws what `run_to_end` throws, std::runtime_error for an uninterrupted result
/// that is wrong, and limit_error where the time is over.
preempted_runs preempt_at_random(task_owner& owner, executor& executor, instants_wish const& wish);

}  // namespace lull::bench
