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

/// Returns a pointer that owns nothing: the caller keeps the object alive.
template <class T>
std::shared_ptr<T> borrowed(T* kept) {
  return {std::shared_ptr<void>{}, kept};
}

/// What a hosted job is made of.
struct hosted_task {
  job_description job;                  // with the requested name and priority
  std::shared_ptr<task_owner> owner{};  // prepared; null: the job is not served and has no result
  std::shared_ptr<job_saver> saves{};   // null: nothing is saved
  another_owner another{};  // makes an owner of the same task, for verifying after `result`; empty: not possible
};

/// The one keeper of a task: its owner, its job, or several one after another, the threads that serve and save it, and
/// its result. The code that submits its jobs decides where they run. Any thread may call `progress`, `over`, `wait`,
/// `items`, `pause`, `resume`, `cancel`, `current_job`, `save_problem`, `result` and `verify`; one thread at a time
/// calls the rest. A program that calls `result` or `verify` does not call `finish_serving`.
class hosted_job {
 public:
  using submit_function = std::function<job(job_description)>;
  using log_function = job_saving::log_function;
  static constexpr std::chrono::seconds max_end_wait{10};

  /// Starts nothing. The machine outlives this. `log`: as in job_saving.
  hosted_job(executor& executor, hosted_task task, log_function log = {});
  /// As `end`, after at most 10 s.
  ~hosted_job();
  hosted_job(hosted_job const&) = delete;
  hosted_job& operator=(hosted_job const&) = delete;

  /// Cancels the job and waits until no block is inside, or until the deadline; after the deadline it leaks what the
  /// job works on. No other call may follow.
  void end(std::chrono::steady_clock::time_point deadline) noexcept;

  enum class from { the_start, where_saved };
  /// Submits the first job, or another when the one before is over and its owner was reset. `to` submits it; `begin`:
  /// from the last save if there is one. Throws as `to` and job_saver::begin.
  void submit(submit_function const& to, from begin = from::where_saved);

  job_progress progress() const { return current_job().progress(); }
  bool over() const { return current_job().wait(std::chrono::nanoseconds{0}); }
  bool wait(std::chrono::nanoseconds at_most) const { return current_job().wait(at_most); }
  /// Returns the items of all its jobs, without an earlier save's; counted when a job leaves its place.
  std::uint64_t items() const;
  void pause() { saving_ != nullptr ? saving_->pause() : current_job().pause(); }
  void resume() { saving_ != nullptr ? saving_->resume() : current_job().resume(); }
  void cancel() { current_job().cancel(); }
  job current_job() const;

  /// Returns whether its owner has more input to come.
  bool is_served() const { return served_ != nullptr && !served_->over(); }
  /// Returns whether its owner has thrown: the job will not finish.
  bool serving_failed() const { return served_ != nullptr && served_->failed(); }
  /// Waits for its owner's `serve`, and throws what that threw. Call it once, when the job is over or about to be.
  void finish_serving();

  /// Starts a thread that saves the job; otherwise the caller does, by the calls below.
  void save_by_thread() { if_saved(&job_saving::start_thread); }
  /// Pauses the job when a save is due, saves it, and resumes it. Call it from time to time.
  void look_after() { if_saved(&job_saving::look_after); }
  bool save_is_due() const { return saving_ != nullptr && saving_->is_due(); }
  /// Saves the job; only while no block is inside.
  void save() { if_saved(&job_saving::save); }
  /// Saves a job that is over.
  void save_at_end() { if_saved(&job_saving::save_at_end); }
  /// Returns why the last save failed; empty: it did not, or nothing is saved.
  std::string save_problem() const { return saving_ != nullptr ? saving_->problem() : ""; }

  task_owner& owner() noexcept { return *owner_; }
  /// Returns the owner's lines; only for a job that has finished. The first call makes the owner write them. It then
  /// forgets what was saved and frees what the task took, except what verifying needs, in host memory. Throws as
  /// task_owner::write.
  std::string const& result();
  /// Verifies a job that has finished. Null: `result` has freed what that needs, because it exceeded what may be kept.
  verification const* verify();

 private:
  void if_saved(void (job_saving::*call)()) {
    if (saving_ != nullptr) (saving_.get()->*call)();
  }
  void give_back();

  executor& executor_;
  mutable std::mutex mutex_;   // guards the next three
  job handle_;                 // before all members that have memory of the machine, which it keeps
  std::uint64_t brought_ = 0;  // items from an earlier save
  std::uint64_t before_ = 0;   // items of earlier jobs
  job_description const what_;
  another_owner const another_;
  bool ended_ = false;
  std::mutex results_;  // guards the next four, except `owner`
  std::shared_ptr<task_owner> owner_;
  std::unique_ptr<kept_result> kept_;  // what verifying needs after the owner has gone
  std::optional<std::string> lines_;
  std::optional<verification> verdict_;
  std::unique_ptr<job_saving> saving_;     // null: nothing is saved; uses the owner
  std::unique_ptr<feeder_thread> served_;  // ends before `saving_`, which may restore what is served
};

}  // namespace lull
