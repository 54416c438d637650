// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
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

/// Saves a job of a runtime at intervals and at its end. It pauses the job for that: this asks nothing of the trainer's
/// stream, and other jobs use its bubbles meanwhile. If a save fails the job continues, and a later save tries again.
/// Any thread may call `pause`, `resume`, `problem` and `detach`; one thread at a time calls the rest.
class job_saving {
 public:
  using log_function = std::function<void(std::string_view)>;

  /// `saves` has a job of this name; `memory`: what of it may be moved out, or null. The machine outlives this. `log`
  /// receives a line if the job cannot be saved, and one if it is not saved at its end.
  job_saving(std::shared_ptr<job_saver> saves, executor& executor, std::string name, std::shared_ptr<job_memory> memory,
             log_function log);
  /// With a saving thread: cancels the job if it is not over, and waits until it is over and saved.
  ~job_saving();
  job_saving(job_saving const&) = delete;
  job_saving& operator=(job_saving const&) = delete;

  /// Resumes from what was saved, if anything was. No block has been inside. Throws as job_saver::begin.
  void take_up(job const& handle) { saves_->begin(detail::state_of(handle)); }
  /// Sets the job to save from now on.
  void follow(job handle);
  /// Pauses the job for its owner: this object pauses and resumes it, too.
  void pause();
  void resume();
  bool is_due() const { return !gives_up_ && saves_->wants_save(); }
  /// Pauses the job when a save is due, saves it once it is paused, and resumes it. Call it from time to time.
  void look_after();
  /// Saves the job; only while no block is inside.
  void save() { save_now(moment::meanwhile); }
  /// Saves a job that is over. A failed job keeps its earlier save.
  void save_at_end();
  /// Starts a thread that does all that until the job is over.
  void start_thread();
  /// Waits until the thread is done, and removes what was saved; for a job that is over and whose results are written.
  /// Nothing is saved afterwards.
  void forget();
  /// Stops saving and logging: a block of the job never leaves it. Never destroy this object afterwards.
  void detach() { gives_up_ = true; }
  /// Returns why the last save failed; empty: it did not.
  std::string problem() const;

 private:
  void work();
  bool ask_for_pause();
  void go_on();
  enum class moment { meanwhile, at_the_end };
  void save_now(moment when);
  void say(std::string const& what);

  std::shared_ptr<job_saver> saves_;
  executor& executor_;
  std::string const name_;
  std::shared_ptr<job_memory> const memory_;
  log_function const log_;
  bool has_thread_ = false;
  std::atomic<bool> gives_up_ = false;  // nothing more is saved
  mutable std::mutex mutex_;            // guards all that follows, except the thread
  job handle_;
  bool owner_pauses_ = false;
  bool saves_now_ = false;
  std::string problem_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull
