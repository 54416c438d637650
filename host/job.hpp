// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <lull/device/cursor.hpp>
#include <lull/device/side_task.hpp>
#include <lull/host/job_memory.hpp>
#include <lull/host/worker_kernel.hpp>

namespace lull {

/// `queued`: waits for a place. `placed`: runs in bubbles, as at most two jobs of a runtime do at a time. `evicted`:
/// its memory is moved out for the trainer, or is on its way back. `paused`: keeps what it has done, and no block is
/// inside. `finished`, `failed`, `cancelled` and `off` are final. If a job failed, `job_progress::why` is the task's
/// reason, or `none` for an error of the machine. `off`: the runtime was off or observed when the job was submitted, so
/// the job never runs.
enum class job_state { queued, placed, evicted, paused, finished, failed, cancelled, off };

char const* name_of(job_state state) noexcept;

/// A functor with its type, and how to run it.
struct job_description {
  task_type type;
  functor_bytes functor;
  std::string name = "job";
  int priority = 0;                      // higher goes first; equal ones in order of submission
  std::uint32_t grain = 1;               // items per chunk
  int blocks_per_processor = 0;          // 0: the executor chooses
  std::uint64_t first_round = 0;         // earlier rounds are over
  std::shared_ptr<void const> keeps{};   // what the functor points to, if the job owns it
  std::shared_ptr<job_memory> memory{};  // memory of this job alone that may be moved out; null: none
  /// Whether the job may go back to where it was last saved if there is no time to save its memory. Such a job writes
  /// nothing outside `memory` and is not fed. Its rounds and progress then go back, too.
  bool may_go_back = false;
  /// Whether it draws so much power that a GPU lowers its clocks, in the kernels of training too.
  bool draws_power = false;
  bool is_paused = false;  // paused from its submission until it is resumed: no block has been inside
};

template <side_task Task>
job_description describe(Task const& task, std::string name = "job") {
  job_description made;
  made.type = type_of<Task>();
  std::memcpy(made.functor.bytes, &task, sizeof task);
  made.name = std::move(name);
  return made;
}

/// A job's progress. `state`, `at` and `phases` are fresh: short phases may be up to 20 us late. `items` counts
/// committed items; it and `why` are updated when the job leaves the bubbles, for example at its end or a pause.
struct job_progress {
  job_state state = job_state::queued;
  std::uint64_t phases = 0;  // opened
  position at;
  std::uint64_t items = 0;
  failure why = failure::none;
};

class job;

namespace detail {
class job_core;
/// Returns a handle of a job that no runtime keeps.
job handle_of(std::shared_ptr<job_core> state);
/// Returns the state of a handle that is not empty.
job_core& state_of(job const& handle);
}  // namespace detail

/// A handle of a submitted side task; copies are the same job. Thread-safe. `wait` and `hold` block, and `feed` blocks
/// for its own small copy; all other calls return at once. No call touches the trainer's stream. A handle may outlive
/// its runtime, which cancels the job when it ends. On an empty handle, and in a process that was forked from the one
/// that submitted the job, every call but `operator bool` and `let_go` throws usage_error.
class job {
 public:
  job() = default;

  job_progress progress() const;
  /// Pauses the job within the time of a chunk; an evicted job when its memory is back. The job keeps what it has done.
  /// Once its state is `paused`, no block is inside until `resume`, and its memory stays.
  void pause();
  void resume();
  /// Cancels the job for good. The task's arrays may be freed once `wait` has returned true. Their content is lost if
  /// the job was evicted and there is no room for its memory.
  void cancel();
  /// Blocks until the job's memory is on the machine, where it stays until `let_go`. Returns false if the time was over
  /// before, or the content is lost. For a program that reads or writes the arrays of a job that may be evicted and is
  /// not over. Each call that returned true needs its own `let_go`.
  [[nodiscard]] bool hold(std::chrono::nanoseconds at_most);
  void let_go() noexcept;
  /// Returns how many rounds are over. What they wrote may be read from the machine while the job runs, under `hold` if
  /// it may be evicted. Reads mapped memory, without a call to the device.
  std::uint64_t rounds() const;
  /// Sets what the `extent` of a fed task receives from now on. The phases that this opens see everything that was
  /// written to the machine before the call. Blocks for its own small copy only.
  void feed(std::uint64_t fed);
  /// Returns the last value given to `feed`, also before the job was resumed from a checkpoint: an owner serves from
  /// there.
  std::uint64_t fed() const;
  /// Blocks until the job's state is final and no block is inside (true), or until the time is over (false).
  /// nanoseconds::max() never ends.
  bool wait(std::chrono::nanoseconds at_most) const;
  explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  friend class runtime;
  friend job detail::handle_of(std::shared_ptr<detail::job_core> state);
  friend detail::job_core& detail::state_of(job const& handle);
  explicit job(std::shared_ptr<detail::job_core> state) : state_(std::move(state)) {}

  std::shared_ptr<detail::job_core> state_;
};

}  // namespace lull
