// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <lull/device/cursor.hpp>
#include <lull/device/side_task.hpp>
#include <lull/host/worker_kernel.hpp>

namespace lull {

enum class job_state { queued, placed, paused, finished, failed, cancelled };

char const* name_of(job_state state) noexcept;

/// What is submitted: a functor with its type, and how to run it.
struct job_description {
  task_type type;
  functor_bytes functor;
  std::string name = "job";
  int priority = 0;              // higher goes first; equal ones in order of submission
  std::uint32_t grain = 1;       // items per chunk
  int blocks_per_processor = 0;  // 0: the executor chooses
};

template <side_task Task>
job_description describe(Task const& task, std::string name = "job") {
  job_description made;
  made.type = type_of<Task>();
  std::memcpy(made.functor.bytes, &task, sizeof task);
  made.name = std::move(name);
  return made;
}

/// How far a job has come. `phases`, one of which may be missing while one is open, `at` and `state` are fresh;
/// `items`, those committed, are counted when it leaves its place.
struct job_progress {
  job_state state = job_state::queued;
  std::uint64_t phases = 0;  // opened
  position at;
  std::uint64_t items = 0;
  failure why = failure::none;
};

class job;

namespace detail {
class job_record;
/// Of a job that no runtime keeps.
job handle_of(std::shared_ptr<job_record> state);
/// Of a handle that is not empty.
job_record& state_of(job const& handle);
}  // namespace detail

/// A handle of a submitted side task; copies are the same job. Thread-safe. All calls but `wait` return at once; none
/// touches the trainer's stream.
class job {
 public:
  job() = default;

  job_progress progress() const;
  /// Takes effect after at most a chunk's time; the job keeps its place in what it has done. Once its state is `paused`
  /// no block is inside until `resume`.
  void pause();
  void resume();
  /// Final. The task's arrays may be freed once `wait` has returned true.
  void cancel();
  /// Rounds that are over: what they wrote may be read from the machine, while the job goes on. One word in mapped
  /// memory.
  std::uint64_t rounds() const;
  /// Of a fed task: what its `extent` is given from now on. What was written to the machine before is seen by the
  /// phases that this opens. Waits for its own small copy, nothing else.
  void feed(std::uint64_t fed);
  /// Blocks until the job is finished, failed or cancelled and no block is inside, or until the time is over (false);
  /// nanoseconds::max() has no end.
  bool wait(std::chrono::nanoseconds at_most) const;
  explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  friend class runtime;
  friend job detail::handle_of(std::shared_ptr<detail::job_record> state);
  friend detail::job_record& detail::state_of(job const& handle);
  explicit job(std::shared_ptr<detail::job_record> state) : state_(std::move(state)) {}

  std::shared_ptr<detail::job_record> state_;
};

}  // namespace lull
