// SPDX-License-Identifier: Apache-2.0
// What the dispatcher does so that jobs' memory gives way.
#include <lull/host/detail/dispatcher.hpp>

#include <algorithm>

#include <lull/host/detail/deadline.hpp>

namespace lull::detail {

/// The highest first.
std::vector<std::shared_ptr<job_record>> dispatcher::all_jobs() const {
  std::vector<std::shared_ptr<job_record>> all(waiting_.begin(), waiting_.end());
  for (place const& each : places_) {
    if (each.who != nullptr) all.push_back(each.who);
  }
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return goes_before(*a, *b); });
  return all;
}

bool dispatcher::moves_memory() const {
  std::lock_guard const lock{mutex_};
  return memories_.any_moves();
}

void dispatcher::forget_jobs() {
  std::lock_guard const lock{mutex_};
  memories_.forget_all();
}

std::uint64_t dispatcher::give_back(std::uint64_t bytes, std::chrono::nanoseconds at_most) {
  // a day is for ever, and cannot overflow
  auto const deadline = deadline_after(std::min<std::chrono::nanoseconds>(at_most, std::chrono::hours{24}));
  memory_request request{.bytes = bytes, .deadline = deadline};
  std::unique_lock lock{mutex_};
  memories_.ask(request);
  wakes_->notify();
  answered_.wait_until(lock, deadline, [&] { return request.is_over; });
  memories_.forget(request);
  return request.given;
}

}  // namespace lull::detail
