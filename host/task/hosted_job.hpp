// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/feeder_thread.hpp>
#include <lull/host/task/job_saver.hpp>
#include <lull/host/task/job_saving.hpp>
#include <lull/host/task/kept_result.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// Returns a pointer that owns nothing: its maker keeps the object for longer.
template <class T>
std::shared_ptr<T> borrowed(T* kept) {
  return {std::shared_ptr<void>{}, kept};
}

/// What a hosted job is made of.
struct hosted_task {
  job_description job;                  // with the name and the priority that are asked for
  std::shared_ptr<task_owner> owner{};  // prepared; null: nobody serves the job, and it has no result
  std::shared_ptr<job_saver> saves{};   // null: nothing is saved
  another_owner another{};              // of the same task, for verifying after `result`; empty: that is not possible
};

/// The one keeper of a task: its owner, its job, or several one after another, the threads that serve and save it, and
/// its result. Where its jobs run is up to who submits them. `progress`, `over`, `wait`, `items`, `pause`, `resume`,
/// `cancel`, `current_job`, `save_problem`, `result` and `verify` may be called from any thread, the rest from one at a
/// time. Who calls `result` or `verify` does not call `finish_serving`.
class hosted_job {
 public:
  using submit_function = std::function<job(job_description)>;
  using log_line = job_saving::log_line;
  static constexpr std::chrono::seconds max_goodbye{10};

  /// Nothing runs yet. The machine outlives this. `log`: as of job_saving.
  hosted_job(executor& executor, hosted_task task, log_line log = {});
  /// As `end`, after 10 s at most.
  ~hosted_job();
  hosted_job(hosted_job const&) = delete;
  hosted_job& operator=(hosted_job const&) = delete;

  /// Cancels the job and waits until no block is inside, or until the deadline: then what it works on is left alone for
  /// ever. No other call follows.
  void end(std::chrono::steady_clock::time_point deadline) noexcept;

  enum class from { the_start, where_saved };
  /// Submits the first job, or another when the one before is over and its owner was reset. `to` submits it; `begin`:
  /// from what was saved, if anything was. Throws as `to` and job_saver::begin.
  void submit(submit_function const& to, from begin = from::where_saved);

  job_progress progress() const { return current_job().progress(); }
  bool over() const { return current_job().wait(std::chrono::nanoseconds{0}); }
  bool wait(std::chrono::nanoseconds at_most) const { return current_job().wait(at_most); }
  /// Of all its jobs, without what was saved earlier; counted when a job leaves its place.
  std::uint64_t items() const;
  void pause();
  void resume();
  void cancel() { current_job().cancel(); }
  job current_job() const;

  /// Its owner has more input to come.
  bool is_served() const { return served_ != nullptr && !served_->over(); }
  /// Its owner has thrown: the job will not come to its end.
  bool serving_failed() const { return served_ != nullptr && served_->failed(); }
  /// Of a job that is over or about to be: waits for its owner's `serve`, and throws what that threw. Once.
  void finish_serving();

  /// A thread saves the job from now on; or the caller does, by the calls that follow.
  void save_by_thread();
  /// To be called from time to time: pauses the job when it is to be saved, saves it, and resumes it.
  void look_after();
  bool save_is_due() const { return saving_ != nullptr && saving_->is_due(); }
  /// Only while no block is inside.
  void save();
  /// Of a job that is over.
  void save_at_end();
  /// Why it was not saved the last time; empty: it was, or is not to be.
  std::string save_problem() const { return saving_ != nullptr ? saving_->problem() : ""; }

  task_owner& owner() noexcept { return *owner_; }
  /// Of a job that has finished: the owner's lines. The first call has it write them; then what was saved is forgotten,
  /// and what the task took goes back, but for what verifying it takes, in host memory. Throws as task_owner::write.
  std::string const& result();
  /// Of a job that has finished. Null: `result` has given back what that takes, and it was more than is kept.
  verification const* verify();

 private:
  void give_back();

  executor& executor_;
  mutable std::mutex mutex_;   // the next three
  job handle_;                 // before all that has memory of the machine, which it keeps
  std::uint64_t brought_ = 0;  // items by what was saved
  std::uint64_t before_ = 0;   // items of earlier jobs
  job_description const what_;
  another_owner const another_;
  bool ended_ = false;
  std::mutex results_;  // the next four, but for `owner`
  std::shared_ptr<task_owner> owner_;
  std::unique_ptr<kept_result> kept_;  // what verifying takes once the owner has gone
  std::optional<std::string> lines_;
  std::optional<verification> verdict_;
  std::unique_ptr<job_saving> saving_;     // null: nothing is saved; uses the owner
  std::unique_ptr<feeder_thread> served_;  // ends before `saving_`, which may restore what is served
};

}  // namespace lull
