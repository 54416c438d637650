// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/job/memory_requests.hpp>

#include <algorithm>
#include <utility>

namespace lull::detail {

namespace {

std::uint64_t lacking(memory_request const& request) noexcept {
  return request.bytes - std::min(request.bytes, request.given);
}

}  // namespace

void memory_requests::ask(pointer request) {
  std::lock_guard const lock{mutex_};
  all_.push_back(std::move(request));
}

std::uint64_t memory_requests::await(pointer const& request) {
  std::unique_lock lock{mutex_};
  answered_.wait_until(lock, request->deadline, [&] { return request->is_over; });
  all_.remove(request);
  return request->given;
}

std::optional<std::uint64_t> memory_requests::answer_to(memory_request const& request) const {
  std::lock_guard const lock{mutex_};
  return request.is_over ? std::optional{request.given} : std::nullopt;
}

void memory_requests::forget(pointer const& request) {
  std::lock_guard const lock{mutex_};
  all_.remove(request);
}

std::uint64_t memory_requests::see() {
  std::lock_guard const lock{mutex_};
  std::uint64_t asked = 0;
  for (pointer const& each : all_) {
    each->is_seen = true;
    if (!each->is_over) asked += lacking(*each);
  }
  return asked;
}

std::optional<memory_requests::time_point> memory_requests::first_deadline() const {
  std::lock_guard const lock{mutex_};
  std::optional<time_point> first;
  for (pointer const& each : all_) {
    if (!each->is_over) first = std::min(first.value_or(each->deadline), each->deadline);
  }
  return first;
}

void memory_requests::hand_out(std::uint64_t went) {
  std::lock_guard const lock{mutex_};
  for (pointer const& each : all_) {
    std::uint64_t const takes = each == all_.back() ? went : std::min(went, lacking(*each));
    each->given += takes;
    went -= takes;
  }
}

void memory_requests::answer(time_point now, bool no_more_comes) {
  {
    std::lock_guard const lock{mutex_};
    for (pointer const& each : all_)
      each->is_over = lacking(*each) == 0 || now >= each->deadline || (each->is_seen && no_more_comes);
  }
  answered_.notify_all();
}

void memory_requests::end_all() noexcept {
  {
    std::lock_guard const lock{mutex_};
    for (pointer const& each : all_) each->is_over = true;
  }
  answered_.notify_all();
}

}  // namespace lull::detail
