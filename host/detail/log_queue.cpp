// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/log_queue.hpp>

#include <exception>
#include <utility>

#include <lull/host/detail/forks.hpp>

namespace lull::detail {

log_queue::log_queue(log_function callback) : callback_(std::move(callback)), forks_(forks_now()) {
  if (callback_) thread_ = std::thread{[this] { serve(); }};
}

void log_queue::add(std::string_view line) noexcept try {
  if (!callback_ || forks_ != forks_now()) return;
  {
    std::lock_guard const lock{mutex_};
    if (!closing_) {
      if (lines_.size() == max_lines) {
        ++dropped_;
      } else {
        lines_.emplace_back(line);
      }
      changed_.notify_one();
      return;
    }
  }
  give(line);
} catch (std::exception const&) {  // no memory for the line
}

void log_queue::give(std::string_view line) noexcept {
  try {
    callback_(line);
  } catch (...) {  // nothing can be told about it
  }
}

void log_queue::serve() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !lines_.empty(); });
    if (closing_ && (lines_.empty() || std::chrono::steady_clock::now() >= give_up_)) return;
    std::string const line = std::move(lines_.front());
    lines_.pop_front();
    std::uint64_t const lost = dropped_ - std::exchange(told_dropped_, dropped_);
    lock.unlock();
    if (lost != 0) give(std::to_string(lost) + " lines of the log were dropped: the log callback was too slow");
    give(line);
    lock.lock();
  }
}

void log_queue::close() noexcept {
  if (!thread_.joinable()) return;
  if (forks_ != forks_now()) {
    thread_.detach();  // the thread of the parent process
    return;
  }
  {
    std::lock_guard const lock{mutex_};
    closing_ = true;
    give_up_ = std::chrono::steady_clock::now() + max_last_lines;
  }
  changed_.notify_one();
  thread_.join();
}

std::uint64_t log_queue::dropped() const {
  std::lock_guard const lock{mutex_};
  return dropped_;
}

}  // namespace lull::detail
