// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <lull/host/runtime.hpp>
#include <lull/host/solo/checkpoints.hpp>
#include <lull/host/solo/feeder_thread.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// An owner and its job in a runtime, one after the other: who serves it, and when it is saved. One thread calls what
/// is not const; the rest may be called from any.
///
/// To be saved a job is paused, through control: nothing is asked of the trainer's stream, and other jobs have its
/// bubbles meanwhile.
class owned_job {
 public:
  /// Of an owner that is prepared. `saves`, if any, outlives this.
  owned_job(runtime& side, std::unique_ptr<task_owner> owner, std::string name, int priority, checkpoints* saves);
  /// Cancels the job and waits, 10 s at most, until no block is inside; else the owner is left alone for ever.
  ~owned_job();
  owned_job(owned_job const&) = delete;
  owned_job& operator=(owned_job const&) = delete;

  /// `where_saved`: from the checkpoint, if there is one.
  enum class from { the_start, where_saved };
  void submit(from begin);
  /// To be called from time to time while the job is about.
  void look_after();
  void cancel() { now().cancel(); }
  /// Of a job that is over: waits for its owner's `serve`, and throws what that threw. Once.
  void finish_serving();
  /// Only while no block is inside. What goes wrong is in `save_problem`, and nothing is saved any more: the job goes
  /// on.
  void save();

  task_owner& owner() noexcept { return *owner_; }
  std::string const& save_problem() const noexcept { return save_problem_; }
  bool over() const { return now().wait(std::chrono::nanoseconds{0}); }
  job_progress progress() const { return now().progress(); }
  /// Of all its jobs, without what a checkpoint brought; counted when a job leaves its place.
  std::uint64_t items() const;

 private:
  job now() const;

  runtime& side_;
  std::unique_ptr<task_owner> owner_;
  std::string const name_;
  int const priority_;
  checkpoints* saves_;
  std::string save_problem_;
  bool pauses_ = false;       // to be saved
  mutable std::mutex mutex_;  // all that follows, but for served_
  job handle_;
  std::uint64_t brought_ = 0;              // items by a checkpoint
  std::uint64_t before_ = 0;               // items of earlier jobs
  std::unique_ptr<feeder_thread> served_;  // behind the owner, which it uses
};

}  // namespace lull
