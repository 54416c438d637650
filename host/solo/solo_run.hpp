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

/// What a task did alone on a machine. Times are those of the machine's clock.
struct solo_run {
  bool finished = false;            // came to its end; else it was stopped, or has a problem
  std::exception_ptr problem = {};  // why it can never come to its end
  std::string save_problem = {};    // why it was not saved the last time; the job went on
  std::uint64_t bubbles = 0;
  std::uint64_t items = 0;    // committed
  std::uint64_t brought = 0;  // … of them, by what was saved earlier
  std::uint64_t chunks = 0;
  std::uint64_t handed_back = 0;        // … chunks
  std::uint64_t phases = 0;             // opened
  std::uint64_t rounds = 0;             // that are over, also by what was saved earlier
  std::chrono::nanoseconds time{0};     // of bubbles in which blocks found input: opening → last block out, summed up
  std::chrono::nanoseconds stay{0};     // summed over blocks: first chunk → leaving
  std::chrono::nanoseconds waiting{0};  // for a phase, also before a block's first chunk
  /// Of each bubble whose close found blocks at work: from the first that saw it until the last was out.
  std::vector<std::chrono::nanoseconds> drains = {};

  solo_run& operator+=(solo_run const& other);           // `finished`: both; problems are not added
  double items_per_s() const noexcept;                   // without what was brought
  double wait_share() const noexcept;                    // of its blocks' time
  std::chrono::nanoseconds chunk_time() const noexcept;  // stay ÷ chunks: with claims and waits for phases
};

/// Asked from time to time, with what the tasks have done so far; true: end now. `phases` and `rounds` are current; the
/// other fields cover only bubbles that are over.
using stop_question = std::function<bool(std::span<solo_run const> now)>;

struct solo_run_options {
  std::chrono::nanoseconds bubble{0};  // how long the host holds each open; 0: one that lasts until the task is over
  /// Not 0: lengths are random, from `bubble` to this. The host spins until the exact moment of each close.
  std::chrono::nanoseconds max_bubble{0};
  std::uint64_t seed = 1;   // of the lengths
  std::uint32_t grain = 0;  // 0: the job's
  std::chrono::nanoseconds at_most = std::chrono::seconds{60};
  stop_question stop = {};
  /// Is told at once of a task that fails, one that cannot be saved, and a chunk that takes too long.
  std::function<void(std::string_view)> log = {};
};

/// A task that is to be run.
struct solo_task {
  job_description job;
  task_owner* owner = nullptr;  // prepared; serves the job; null: nobody does
  job_saver* saves = nullptr;   // whenever it is due, and at the end; null: nothing is saved
};

/// Runs tasks to their end on a machine that they have to themselves, in bubbles that the host opens. One works at a
/// time: the first of the highest priority, and while it starves, the next. If one task fails, the others go on.
/// Blocks. Throws what `stop` and `job_saver::begin` throw; usage_error for a task without code for this machine, a job
/// whose own grain is 0, and lengths that bubble_lengths refuses; limit_error where the machine's memory is used up. A
/// chunk that does not end within 10 s of a close ends the process, for nothing can make it leave.
std::vector<solo_run> run_solo(executor& executor, std::vector<solo_task> const& tasks,
                               solo_run_options const& how = {});

/// The same of one task. Throws its problem, too: what `serve` throws; usage_error for a task that fails, or one that
/// starves when `serve` has returned.
solo_run run_to_end(task_owner& owner, executor& executor, solo_run_options const& how = {});
/// … that nobody serves.
solo_run run_to_end(job_description const& job, executor& executor, solo_run_options const& how = {});

/// Nearest rank, `share` in [0, 1]; 0 of nothing.
std::chrono::nanoseconds percentile(std::vector<std::chrono::nanoseconds> values, double share);

}  // namespace lull
