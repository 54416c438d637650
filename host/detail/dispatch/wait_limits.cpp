// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/dispatch/wait_limits.hpp>

#include <algorithm>

namespace lull::detail {

namespace {

using steady = std::chrono::steady_clock;

/// How long until a wait is ended again: an opening edge stores its number, too, and may overwrite the host's with a
/// smaller one.
constexpr std::chrono::microseconds again{200};

}  // namespace

wait_limits::wait_limits() : thread_([this] { serve(); }) {}

wait_limits::~wait_limits() {
  {
    std::lock_guard const lock{mutex_};
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void wait_limits::add(gate& at, std::uint64_t bubble, time_point until) {
  std::lock_guard const lock{mutex_};
  look(steady::now());
  for (pending_wait const& each : waits_) {
    if (each.at == &at) until = std::max(until, each.until);  // later waits are not let go sooner
  }
  bool const is_first = waits_.empty() || until < waits_.front().until;
  waits_.push_back({&at, bubble, until});
  if (is_first) changed_.notify_all();
}

void wait_limits::end_all() {
  std::lock_guard const lock{mutex_};
  for (pending_wait& each : waits_) each.until = time_point::min();
  look(steady::now());
  changed_.notify_all();
}

void wait_limits::forget(gate& at, std::uint64_t bubble) {
  std::lock_guard const lock{mutex_};
  std::erase_if(waits_, [&](pending_wait const& each) { return each.at == &at && each.bubble == bubble; });
}

/// Ends waits whose time is over, repeatedly until their bubbles have opened or their workers have left.
void wait_limits::look(time_point now) {
  for (pending_wait& each : waits_) {
    if (each.until > now || each.at->has_opened(each.bubble)) continue;
    each.at->release(each.bubble);
    each.until = now + again;
  }
  std::erase_if(waits_, [](pending_wait const& each) { return each.at->has_opened(each.bubble); });
}

void wait_limits::serve() {
  std::unique_lock lock{mutex_};
  while (!ending_) {
    auto const now = steady::now();
    look(now);
    auto next = time_point::max();
    for (pending_wait const& each : waits_) next = std::min(next, each.until);
    if (next == time_point::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, next);
    }
  }
  for (pending_wait const& each : waits_) each.at->release(each.bubble);
}

}  // namespace lull::detail
