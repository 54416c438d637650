// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/solo/checkpoints.hpp>

namespace lull {

/// Saves a job of a runtime every so often, and when it is over, by a thread of its own. To be saved the job is paused:
/// nothing is asked of the trainer's stream, and other jobs have its bubbles meanwhile. Thread-safe.
class saving_thread {
 public:
  using log_line = std::function<void(std::string_view)>;

  /// Takes up what was saved, then resumes the job, which was submitted paused. The machine, and what the checkpoints
  /// use, outlive this. `log`: a line where the job cannot be saved, which is tried again, and one where it is not
  /// saved at its end. Throws as checkpoints::begin.
  saving_thread(std::unique_ptr<checkpoints> saves, executor& machine, job handle, log_line log);
  /// Cancels the job if it is not over, and waits until it is, and saved.
  ~saving_thread();
  saving_thread(saving_thread const&) = delete;
  saving_thread& operator=(saving_thread const&) = delete;

  /// As of the job, for its owner: this pauses and resumes it, too.
  void pause();
  void resume();
  /// Of a job that is over: waits until it is saved, and removes the file. Its results are written.
  void forget();
  /// A block of the job never leaves it: nothing is saved or logged from here on. Then this may never go.
  void leave_alone();

 private:
  void work();
  bool save_is_due();
  void save_in_pause();
  enum class moment { meanwhile, at_the_end };
  void save(moment when);
  void say(std::string const& what);
  bool is_left_alone();

  std::unique_ptr<checkpoints> const saves_;
  executor& machine_;
  job handle_;
  log_line const log_;
  std::mutex mutex_;  // the next three
  bool owner_pauses_ = false;
  bool saves_now_ = false;
  bool gives_up_ = false;  // nothing is saved any more
  bool fails_ = false;     // the last time; the thread's own
  std::thread thread_;     // last: it uses all of the above
};

}  // namespace lull
