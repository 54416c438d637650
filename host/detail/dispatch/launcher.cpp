// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/dispatch/launcher.hpp>

#include <algorithm>
#include <thread>

namespace lull::detail {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr auto never = steady::time_point::max();
// Past the expected opening a worker waits as long as its bubble usually lasts. A longer wait could cost the trainer
// more than the bubble brings. A shorter one may lose the bubble, because a launch into an open bubble may return only
// when the bubble ends. If no opening was expected, or no length is known, the worker waits for this maximum.
constexpr std::chrono::nanoseconds max_overdue = 250ms;
constexpr std::chrono::nanoseconds min_overdue = 1ms;
constexpr std::chrono::nanoseconds min_look = 20us;
constexpr std::chrono::nanoseconds max_look = 500us;

/// Returns when to look again whether a bubble has opened: the longer the wait, the later, so that looks cost little.
/// If the trainer's host waits at a full queue, a launch 70 µs after the opening may return only when the bubble ends;
/// one 40 µs after it does not (docs/decisions/armed-late.md).
std::chrono::nanoseconds look_after(std::chrono::nanoseconds distance) {
  return std::clamp<std::chrono::nanoseconds>(distance / 32, min_look, max_look);
}

}  // namespace

launcher::time_point launcher::offer(gate& at) {
  // The dispatcher may be busy with other gates. In line, and where workers are enqueued at once, there is no later
  // moment.
  bool const at_once = policy_.in_line || policy_.armed_ahead.value_or(std::chrono::nanoseconds{0}) > unknown_ahead;
  std::unique_lock lock{mutex_, std::try_to_lock};
  // Polls instead of a timed lock, which ThreadSanitizer does not know (g++ 12).
  for (auto const begin = steady::now(); at_once && !lock && steady::now() - begin < max_wait;) {
    std::this_thread::yield();
    static_cast<void>(lock.try_lock());
  }
  if (!lock) return time_point::min();
  return serve(at, steady::now());
}

launcher::time_point launcher::tick() {
  std::lock_guard const lock{mutex_};
  auto const now = steady::now();
  for (auto const& each : gates_) {
    if (auto const opened_ns = each->take_opening()) clock_.note(*opened_ns, now);
  }
  while (!order_.empty() && order_.front().at->workers_left(order_.front().bubble)) {
    limits_.forget(*order_.front().at, order_.front().bubble);
    order_.front().at->note_left(order_.front().bubble);
    order_.pop_front();
  }
  auto next = never;
  for (auto const& each : gates_) next = std::min(next, serve(*each, now));
  return std::min(next, next_look(now));
}

void launcher::stop() {
  std::lock_guard const lock{mutex_};
  stopped_ = true;
  for (auto const& each : gates_) serve(*each, steady::now());
  limits_.end_all();
}

/// Enqueues what is due at a gate; returns when something will be.
launcher::time_point launcher::serve(gate& at, time_point now) {
  several_ = std::count_if(gates_.begin(), gates_.end(), [](auto const& each) { return each->is_in_use(); }) > 1;
  while (auto const asked = at.request()) {
    if (stopped_ || !asked->wanted || asked->over) {
      at.pass(asked->bubble);
      continue;
    }
    if (asked->not_before > now) return asked->not_before;
    bool const is_on_stream = std::any_of(order_.begin(), order_.end(), [&](enqueued const& each) {
      return each.at == &at && each.bubble == asked->bubble;
    });
    // let go and not seen to have left: it may still work
    if (is_on_stream) return now + look_after(now - asked->since);
    if (order_.size() >= (several_ && !policy_.in_line ? 1 : executor::max_in_flight)) {
      // A worker that could work at once is worth more than one that waits.
      if (several_ && asked->opened) limits_.end_all();
      return now + look_after(now - asked->since);
    }
    if (asked->opened) {
      // It may be over by now: then a worker would only delay what the trainer computes.
      auto const since = clock_.at(asked->opened_ns);
      bool const is_past = since && asked->usual_length.count() != 0 && now > *since + asked->usual_length;
      bool const likely_over = is_past && !asked->inside;
      if (likely_over) {
        at.pass(asked->bubble);
      } else {
        enqueue(at, *asked, start_when::at_once, now);
      }
      continue;
    }
    if (policy_.in_line) {
      enqueue(at, *asked, start_when::opened, now);
      continue;
    }
    auto const by_bubble = asked->expected_ns ? clock_.at(*asked->expected_ns) : std::nullopt;
    bool const after_pause = by_bubble && *by_bubble <= asked->called;  // before the host's call for the bubble
    if (after_pause) at.note_pause(asked->bubble);
    std::optional<expectation> known;
    if (by_bubble && !after_pause) known = {*by_bubble, asked->ahead};
    if (after_pause && asked->after_call) known = {asked->called + *asked->after_call, asked->ahead_of_call};
    auto const ahead = policy_.armed_ahead.value_or(known ? known->ahead : asked->ahead);
    auto const unknown = policy_.armed_ahead ? asked->since + unknown_ahead : now;
    auto const due = (known ? known->opening : unknown) - ahead;
    bool const may_wait = ahead.count() != 0 && !asked->after_late;
    if (may_wait && due <= now) {
      enqueue(at, *asked, start_when::opened, now, known);
      continue;
    }
    // Look until then, because it may open unexpectedly.
    auto const distance = known ? std::chrono::abs(known->opening - now) : now - asked->since;
    auto const next = now + look_after(distance);
    return may_wait ? std::min(due, next) : next;
  }
  return never;
}

std::chrono::nanoseconds launcher::overdue_limit(launch_request const& asked, bool is_expected) const {
  if (several_) return policy_.shared_overdue;
  if (policy_.armed_ahead) return *policy_.armed_ahead + max_overdue;
  bool const known = is_expected && asked.usual_length.count() != 0;
  return known ? std::clamp(asked.usual_length, min_overdue, max_overdue) : max_overdue;
}

void launcher::enqueue(gate& at, launch_request const& asked, start_when when, time_point now,
                       std::optional<expectation> known) {
  auto const expected_at = known ? std::max(now, known->opening) : now;
  if (when == start_when::opened && !policy_.in_line) {
    limits_.add(at, asked.bubble, expected_at + overdue_limit(asked, known.has_value()));
  }
  if (auto const lease = at.launch(asked.bubble, when, policy_.in_line ? arming::in_line : arming::beside)) {
    order_.push_back({&at, asked.bubble, expected_at, asked.inside ? expected_at + *lease : never});
  } else {
    limits_.forget(at, asked.bubble);
  }
}

/// Returns when to look next. Soon after a bubble opens, a look learns the device's clock; where several gates share
/// the stream, another worker may follow then. Soon after a lease in a bubble that the host has not closed, another may
/// follow in the same bubble.
launcher::time_point launcher::next_look(time_point now) const {
  if (order_.empty()) return never;
  enqueued const& head = order_.front();
  auto const ends = head.ends == never ? never : std::max(head.ends, now) + min_look;
  if (policy_.in_line) return ends;
  if (now < head.expected) return head.expected + min_look;
  return several_ || !head.at->has_opened(head.bubble) ? now + look_after(now - head.expected) : ends;
}

}  // namespace lull::detail
