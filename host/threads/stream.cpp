// SPDX-License-Identifier: Apache-2.0
#include <lull/host/threads/stream.hpp>

#include <atomic>
#include <utility>

#include <lull/host/error.hpp>

namespace lull {

namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> streams{0};
  return ++streams;
}

}  // namespace

threads_stream::threads_stream() : id_(next_id()), thread_([this] { serve(); }) {}

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
    if (capture_ != 0) return captured_.operations_.push_back(std::move(operation));
    if (queue_.size() >= max_queued)
      throw limit_error{"threads stream: too many operations wait: synchronise more often"};
    queue_.push_back(std::move(operation));
    ++enqueued_;
  }
  changed_.notify_all();
}

void threads_stream::begin_capture() {
  static std::atomic<std::uint64_t> captures{0};
  std::lock_guard const lock{mutex_};
  if (capture_ != 0) throw usage_error{"threads stream: it is being captured already"};
  capture_ = ++captures;
  captured_ = {};
}

threads_graph threads_stream::end_capture() {
  std::lock_guard const lock{mutex_};
  if (capture_ == 0) throw usage_error{"threads stream: it is not being captured"};
  capture_ = 0;
  return std::exchange(captured_, {});
}

std::uint64_t threads_stream::capture() const {
  std::lock_guard const lock{mutex_};
  return capture_;
}

void threads_stream::keep(std::shared_ptr<void const> what) {
  std::lock_guard const lock{mutex_};
  captured_.kept_.push_back(std::move(what));
}

void threads_stream::launch(threads_graph const& graph) {
  auto const whole = std::make_shared<threads_graph const>(graph);
  enqueue([whole] {
    for (auto const& operation : whole->operations_) operation();
  });
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
