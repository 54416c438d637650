// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/job_memory.hpp>
#include <lull/host/task/job_saver.hpp>

namespace lull {

/// When a job of a runtime is saved: every so often, and at its end. To be saved it is paused: nothing is asked of the
/// trainer's stream, and other jobs have its bubbles meanwhile. Where that fails the job goes on, and it is tried
/// again. `pause`, `resume`, `problem` and `leave_alone` may be called from any thread, the rest comes from one at a
/// time.
class job_saving {
 public:
  using log_line = std::function<void(std::string_view)>;

  /// `saves` has the job of such a name; `memory`: what may give way of it, or null. The machine outlives this. `log`:
  /// a line where the job cannot be saved, and one where it is not saved at its end.
  job_saving(std::shared_ptr<job_saver> saves, executor& executor, std::string name, std::shared_ptr<job_memory> memory,
             log_line log);
  /// Where a thread saves: cancels the job if it is not over, and waits until it is, and saved.
  ~job_saving();
  job_saving(job_saving const&) = delete;
  job_saving& operator=(job_saving const&) = delete;

  /// Takes up what was saved, if anything was. No block has been inside. Throws as job_saver::begin.
  void take_up(job const& handle);
  /// This is the job from now on.
  void follow(job handle);
  /// As of the job, for its owner: this pauses and resumes it, too.
  void pause();
  void resume();
  bool is_due() const;
  /// To be called from time to time: pauses a job that is to be saved, saves it once it is paused, and resumes it.
  void look_after();
  /// Only while no block is inside.
  void save();
  /// Of a job that is over. One that failed leaves what was saved before.
  void save_at_end();
  /// A thread does all that from now on, until the job is over.
  void start_thread();
  /// Of a job that is over: waits until that thread is done, and removes what was saved. Its results are written, and
  /// nothing is saved any more.
  void forget();
  /// A block of the job never leaves it: nothing is saved or logged from here on. Never destroy this then.
  void leave_alone();
  /// Why the job was not saved the last time; empty: it was.
  std::string problem() const;

 private:
  void work();
  bool ask_for_pause();
  void go_on();
  enum class moment { meanwhile, at_the_end };
  void save(moment when);
  void say(std::string const& what);
  bool is_left_alone() const;

  std::shared_ptr<job_saver> saves_;
  executor& executor_;
  std::string const name_;
  std::shared_ptr<job_memory> const memory_;
  log_line const log_;
  bool has_thread_ = false;
  mutable std::mutex mutex_;  // all that follows, but for the thread
  job handle_;
  bool owner_pauses_ = false;
  bool saves_now_ = false;
  bool gives_up_ = false;  // nothing is saved any more
  std::string problem_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull
