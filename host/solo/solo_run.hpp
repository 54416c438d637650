// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include <lull/host/executor.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

struct solo_run_options {
  std::chrono::nanoseconds bubble{0};  // how long the host holds each open; 0: one that lasts until the task is over
  /// Not 0: `bubble` is the shortest; lengths are random, and a close comes at its instant, not at the host's next
  /// look.
  std::chrono::nanoseconds max_bubble{0};
  std::uint64_t seed = 1;   // of the lengths
  std::uint32_t grain = 0;  // 0: the owner's
  std::chrono::nanoseconds at_most = std::chrono::seconds{60};
};

/// What a task did alone on a machine. Times are those of the machine's clock.
struct solo_run {
  bool finished = false;  // false: `at_most` came first
  std::uint64_t bubbles = 0;
  std::uint64_t items = 0;  // committed
  std::uint64_t chunks = 0;
  std::uint64_t handed_back = 0;     // … chunks
  std::chrono::nanoseconds time{0};  // of bubbles together but those of nothing but hunger: opening → last block out
  std::chrono::nanoseconds stay{0};  // summed over blocks: first chunk → leaving
  /// Of each bubble whose close found blocks at work: from the first that saw it until the last was out.
  std::vector<std::chrono::nanoseconds> drains = {};

  solo_run& operator+=(solo_run const& other);  // `finished`: both
  double items_per_s() const noexcept;
  std::chrono::nanoseconds chunk_time() const noexcept;  // mean, with the claim
};

/// Runs an owner's task from its beginning to its end, by itself, in bubbles of the host's: for tests and benches. The
/// owner is prepared, and at the start; it serves the job meanwhile. Blocks. Throws what `serve` throws; usage_error
/// for a task without code for this machine, a grain of 0, one that fails, or one that starves when `serve` has
/// returned, and for lengths that bubble_lengths refuses; limit_error where the machine's memory is used up.
solo_run run_to_end(task_owner& owner, executor& machine, solo_run_options const& how = {});

/// Nearest rank, `share` in [0, 1]; 0 of nothing.
std::chrono::nanoseconds percentile(std::vector<std::chrono::nanoseconds> values, double share);

}  // namespace lull
