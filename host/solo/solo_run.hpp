// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/job_saver.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// What a task did alone on a machine. Times are of the machine's clock.
struct solo_run {
  bool finished = false;            // reached its end; otherwise it was stopped, or has a problem
  std::exception_ptr problem = {};  // why it can never reach its end
  std::string save_problem = {};    // why the last save failed; the job continued
  std::uint64_t bubbles = 0;
  std::uint64_t items = 0;    // committed
  std::uint64_t brought = 0;  // … of these, from an earlier save
  std::uint64_t chunks = 0;
  std::uint64_t handed_back = 0;        // … chunks
  std::uint64_t phases = 0;             // opened
  std::uint64_t rounds = 0;             // that are over, including an earlier save's
  std::chrono::nanoseconds time{0};     // of bubbles in which blocks found input: opening → last block out, summed up
  std::chrono::nanoseconds stay{0};     // summed over blocks: first chunk → leaving
  std::chrono::nanoseconds waiting{0};  // for a phase, also before a block's first chunk
  /// For each bubble whose close found blocks at work: from the first block's sight until the last had left.
  std::vector<std::chrono::nanoseconds> drains = {};

  solo_run& operator+=(solo_run const& other);           // `finished`: if both; problems are not added
  double items_per_s() const noexcept;                   // without `brought`
  double wait_share() const noexcept;                    // of its blocks' time
  std::chrono::nanoseconds chunk_time() const noexcept;  // stay ÷ chunks: with claims and waits for phases
};

/// Called from time to time with what the tasks have done so far; returns true to end the run. `phases` and `rounds`
/// are current; the other fields cover only bubbles that are over.
using stop_question = std::function<bool(std::span<solo_run const> now)>;

struct solo_run_options {
  std::chrono::nanoseconds bubble{0};  // how long the host holds each open; 0: until the task is over
  /// Not 0: lengths are random, from `bubble` to this. The host spins until the exact moment of each close.
  std::chrono::nanoseconds max_bubble{0};
  std::uint64_t seed = 1;   // of the lengths
  std::uint32_t grain = 0;  // 0: the job's
  std::chrono::nanoseconds at_most = std::chrono::seconds{60};
  stop_question stop = {};
  /// Receives a line at once about a task that fails, one that cannot be saved, and a chunk that takes too long.
  std::function<void(std::string_view)> log = {};
};

/// A task to run.
struct solo_task {
  job_description job;
  task_owner* owner = nullptr;  // prepared; serves the job; null: no owner does
  job_saver* saves = nullptr;   // saves it when due, and at the end; null: nothing is saved
};

/// Runs tasks to their end on a machine that they have to themselves, in bubbles that the host opens. One works at a
/// time: the first of the highest priority, and while that one starves, the next. If one task fails, the others
/// continue. Blocks. Throws what `stop` and `job_saver::begin` throw; usage_error for a task without code for this
/// machine, a job whose own grain is 0, and lengths that bubble_lengths refuses; limit_error if the machine has no
/// memory left. A chunk that does not end within 10 s of a close ends the process, because nothing can make its block
/// leave.
std::vector<solo_run> run_solo(executor& executor, std::vector<solo_task> const& tasks,
                               solo_run_options const& how = {});

/// Runs one task to its end. Also throws the task's problem: what `serve` throws; usage_error for a task that fails, or
/// that starves after `serve` has returned.
solo_run run_to_end(task_owner& owner, executor& executor, solo_run_options const& how = {});
/// … for a job without an owner.
solo_run run_to_end(job_description const& job, executor& executor, solo_run_options const& how = {});

/// Returns a percentile by nearest rank, `share` in [0, 1]; 0 without values.
std::chrono::nanoseconds percentile(std::vector<std::chrono::nanoseconds> values, double share);

}  // namespace lull
