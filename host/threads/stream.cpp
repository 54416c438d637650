// SPDX-License-Identifier: Apache-2.0
#include <lull/host/threads/stream.hpp>

#include <utility>

#include <lull/host/error.hpp>

namespace lull {

threads_stream::threads_stream() : thread_([this] { serve(); }) {}

threads_stream::~threads_stream() {
  {
    std::lock_guard const lock{mutex_};
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void threads_stream::enqueue(std::function<void()> operation) {
  {
    std::lock_guard const lock{mutex_};
    if (queue_.size() >= most_queued) throw limit_error{"threads stream: too many operations wait; synchronize more often"};
    queue_.push_back(std::move(operation));
    ++enqueued_;
  }
  changed_.notify_all();
}

void threads_stream::synchronize() {
  std::unique_lock lock{mutex_};
  std::size_t const until = enqueued_;
  changed_.wait(lock, [&] { return done_ >= until; });
}

bool threads_stream::idle() const {
  std::lock_guard const lock{mutex_};
  return done_ == enqueued_;
}

void threads_stream::serve() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> const operation = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    operation();
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace lull
