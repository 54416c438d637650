// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <lull/apps/lull/always_on_task.hpp>
#include <lull/apps/lull/same_result.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// Side work as people run it today: a host thread that launches one kernel a phase on a stream of the lowest priority,
/// whatever the trainer does. A task that ends is started again. Begins paused.
class always_on {
 public:
  always_on(executor& machine, task_owner& owner, results_kept kept);
  ~always_on();
  always_on(always_on const&) = delete;
  always_on& operator=(always_on const&) = delete;

  void resume();
  /// Blocks until nothing of it runs on the machine. Errors: those of the work.
  void pause();
  /// Blocks until the task has come to its end, or `stop` says so (false); then nothing of it runs on the machine.
  bool finish(std::function<bool()> const& stop);
  /// After `finish` that returned true: judges every run of the task to its end, or with no results kept its last.
  verification verify() { return kept_ == results_kept::all ? same_.verify(owner_).all : owner_.verify(); }

  std::uint64_t items() const noexcept { return items_; }
  std::uint64_t chunks() const noexcept { return chunks_; }
  std::uint64_t phases() const noexcept { return phases_; }
  std::uint64_t ended() const noexcept { return ended_; }

 private:
  void serve();
  void one_round();

  executor& machine_;
  task_owner& owner_;
  results_kept const kept_;
  same_result same_;
  std::unique_ptr<always_on_task> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;
  bool quiet_ = true;
  bool ending_ = false;
  std::exception_ptr problem_;
  std::atomic<std::uint64_t> items_ = 0;
  std::atomic<std::uint64_t> chunks_ = 0;
  std::atomic<std::uint64_t> phases_ = 0;
  std::atomic<std::uint64_t> ended_ = 0;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull
