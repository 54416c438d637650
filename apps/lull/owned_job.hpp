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

/// An owner and its job in a runtime, one after the other: who serves it, when it is saved, and that it makes way while
/// it starves. One thread calls what is not const; the rest may be called from any.
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
  /// To be called from time to time while the job is about. `another_waits`: a job has no place.
  void look_after(bool another_waits);
  void cancel() { now().cancel(); }
  /// Of a job that is over: waits for its owner's `serve`, and throws what that threw. Once.
  void finish_serving();
  /// Only while no block is inside. What goes wrong is in `save_problem`, and nothing is saved any more: the job goes
  /// on.
  void save();

  task_owner& owner() noexcept { return *owner_; }
  std::string const& save_problem() const noexcept { return save_problem_; }
  bool over() const { return now().wait(std::chrono::nanoseconds{0}); }
  /// Stands in the queue for a place.
  bool waits() const { return now().progress().state == job_state::queued; }
  job_progress progress() const { return now().progress(); }
  /// Of all its jobs, without what a checkpoint brought; counted when a job leaves its place.
  std::uint64_t items() const;

 private:
  enum class job_turn { in_turn, is_saved, makes_way };
  job now() const;
  bool starves(job_progress const& reached);

  runtime& side_;
  std::unique_ptr<task_owner> owner_;
  std::string const name_;
  int const priority_;
  checkpoints* saves_;
  std::string save_problem_;
  job_turn turn_ = job_turn::in_turn;
  std::chrono::steady_clock::time_point since_;  // it makes way; or starves, and has opened no phase
  std::uint64_t phases_ = 0;
  mutable std::mutex mutex_;  // all that follows, but for served_
  job handle_;
  std::uint64_t brought_ = 0;              // items by a checkpoint
  std::uint64_t before_ = 0;               // items of earlier jobs
  std::unique_ptr<feeder_thread> served_;  // behind the owner, which it uses
};

}  // namespace lull
