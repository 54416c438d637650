// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

class checkpoints;

/// What a task did by itself, in a bubble that does not end but to save and where the task starves. Times are those of
/// the machine's clock, unless they say otherwise.
struct solo_result {
  job_state state = job_state::cancelled;  // finished, failed, or cancelled: was stopped before its end
  std::uint64_t items = 0;
  std::uint64_t chunks = 0;
  std::uint64_t phases = 0;
  std::chrono::nanoseconds time{
      0};  // from the opening until the last block was out, of bubbles in which there was work
  std::chrono::nanoseconds elapsed{
      0};                  // with all that is no part of it, such as waiting for input; of the host's clock
  std::uint64_t jobs = 0;  // that came to their end
  std::optional<std::uint64_t> chunks_of_job;  // of one that did
  std::uint64_t stay_ns = 0;                   // summed over blocks: first chunk → leaving
  std::uint64_t wait_ns = 0;                   // of it, waiting for a phase
  std::uint64_t brought = 0;                   // of the items, by a checkpoint
  std::string save_problem = {};               // why it was not saved any more; the job went on

  double items_per_s() const noexcept;
  double wait_share() const noexcept {
    return stay_ns == 0 ? 0 : static_cast<double>(wait_ns) / static_cast<double>(stay_ns);
  }
};

/// Asked from time to time; true: end now. Gets the phases opened so far.
using stop_question = std::function<bool(std::uint64_t phases)>;

/// Runs the job to its end, or until `stop` says so: in a bubble whose worker is launched again at each lease, and in
/// another one behind each save, and as often as the job starves. Blocks. The machine must not be in use by a runtime
/// that has work now. `owner`: who serves the job, if anybody does; what that threw is thrown. `saves`: where its state
/// goes now and then, and at the end; `log` is told at once when that fails, and the job goes on, or when a chunk takes
/// longer than a lease. One that does not end 10 s behind the close ends the process, for nothing can make it leave.
solo_result run_solo(executor& machine, job_description const& job, stop_question const& stop,
                     task_owner* owner = nullptr, checkpoints* saves = nullptr,
                     std::function<void(std::string_view)> const& log = {});

/// The same as ordinary code, one kernel a phase: what people do today.
solo_result run_plain(executor& machine, job_description const& job, stop_question const& stop);

/// Runs the task again and again, from the start each time, for about that long, and sums up; resets it at the end.
solo_result measure_solo(executor& machine, task_owner& owner, std::chrono::nanoseconds about,
                         stop_question const& stop);

}  // namespace lull
