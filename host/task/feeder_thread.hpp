// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <thread>

#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// The thread that serves a job of an owner, from the job's submission until it is over. An owner that throws cancels
/// the job.
class feeder_thread {
 public:
  /// Both outlive this.
  feeder_thread(task_owner& owner, executor& executor, job handle);
  /// Cancels the job if it is not over, and waits for the owner to see that; the job reaches its final state in the
  /// dispatcher.
  ~feeder_thread();
  feeder_thread(feeder_thread const&) = delete;
  feeder_thread& operator=(feeder_thread const&) = delete;

  /// The owner has thrown: the job will not come to its end.
  bool failed() const noexcept { return failed_; }
  /// The owner has returned or thrown: no input comes any more.
  bool over() const noexcept { return over_; }
  /// Waits until the owner is done; throws what it threw. Once, when the job is over or about to be.
  void finish();
  /// Nobody waits for the owner any more. Then neither this nor the owner may ever go.
  void leave_alone() { thread_.detach(); }

 private:
  job handle_;
  std::exception_ptr problem_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> over_{false};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull
