// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/always_on.hpp>

namespace lull {

always_on::always_on(executor& machine, task_owner& owner, results_kept kept)
    : machine_(machine),
      owner_(owner),
      kept_(kept),
      same_(machine),
      work_(std::make_unique<always_on_task>(machine, owner.describe())),
      thread_([this] { serve(); }) {}

always_on::~always_on() {
  {
    std::lock_guard const lock{mutex_};
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void always_on::resume() {
  {
    std::lock_guard const lock{mutex_};
    wanted_ = true;
    quiet_ = false;
  }
  changed_.notify_all();
}

void always_on::pause() {
  std::unique_lock lock{mutex_};
  wanted_ = false;
  changed_.wait(lock, [this] { return quiet_; });
  if (problem_ != nullptr) std::rethrow_exception(problem_);
}

bool always_on::finish(std::function<bool()> const& stop) {
  pause();
  bool stopped = false;
  // Where there is no work, the last one has just ended, and its result stands.
  while (work_ != nullptr && !(stopped = stop())) one_round();
  machine_.synchronize(machine_.plain_stream());
  return !stopped;
}

/// One round of the task, from the start where it had ended. The result of one that ends stands until the next round.
void always_on::one_round() {
  if (work_ == nullptr) {
    owner_.reset();
    work_ = std::make_unique<always_on_task>(machine_, owner_.describe());
  }
  std::uint64_t const items = work_->items();
  std::uint64_t const chunks = work_->chunks();
  std::uint64_t const phases = work_->phases();
  work_->round();
  items_ += work_->items() - items;
  chunks_ += work_->chunks() - chunks;
  phases_ += work_->phases() - phases;
  if (!work_->finished()) return;
  ++ended_;
  work_.reset();                                            // waits for the stream
  if (kept_ == results_kept::all) same_.holds_for(owner_);  // its verdict comes with verify
}

void always_on::serve() {
  std::unique_lock lock{mutex_};
  try {
    machine_.arrive();
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || wanted_; });
      if (ending_) break;
      lock.unlock();
      one_round();
      lock.lock();
      if (wanted_ && !ending_) continue;
      machine_.synchronize(machine_.plain_stream());
      quiet_ = true;
      changed_.notify_all();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    problem_ = std::current_exception();
  }
  quiet_ = true;
  changed_.notify_all();
}

}  // namespace lull
