// SPDX-License-Identifier: Apache-2.0
// When a gate's bubbles get their workers, and for how long.
#include <lull/host/detail/gate/gate.hpp>

#include <algorithm>
#include <utility>

namespace lull::detail {

namespace {

using steady = std::chrono::steady_clock;

}  // namespace

std::optional<launch_request> gate::request() {
  std::lock_guard const lock{mutex_};
  opening_numbers const now = numbers();
  std::uint64_t const late = first_let_go();
  bool const again = late != 0 && has_reached(now.opened, static_cast<std::uint32_t>(late));
  std::uint64_t const next = again ? late : std::min(decided_ + 1, bubbles_);
  if (next == 0) return std::nullopt;
  placed const& of = placed_of(next);
  bool const inside = open_ && next == bubbles_;
  if (next <= decided_ && !again && !inside) return std::nullopt;
  auto const from = inside ? may_enter(of, now) : steady::time_point::min();
  if (!from) return std::nullopt;
  bool const wanted = of.is_wanted();
  auto const opens = wanted ? expected(next) : std::nullopt;
  auto const after_call = of.where->opens.after_call();
  return launch_request{
      .bubble = next,
      .wanted = wanted,
      .inside = inside,
      .opened = has_reached(now.opened, static_cast<std::uint32_t>(next)),
      .over = has_reached(now.opened, static_cast<std::uint32_t>(next + 1)),
      .after_late = !again && late != 0,
      .not_before = *from,
      .opened_ns = opened_ns(),
      .usual_length = of.where->past.longest(),
      .expected_ns = opens ? std::optional{opens->at_ns} : std::nullopt,
      .ahead = of.where->opens.ahead(opens.value_or(opening{}).distance),
      .since = inside ? of.opened : of.closed,
      .called = of.opened,
      .after_call = after_call,
      .ahead_of_call = of.where->opens.ahead_of_call(after_call.value_or(std::chrono::nanoseconds{0}))};
}

/// Returns from when on workers may be launched into the bubble that the host has not closed; nothing if not yet known.
std::optional<steady::time_point> gate::may_enter(placed const& of, opening_numbers now) const {
  if (!of.is_wanted() || !of.may_be_entered) return std::nullopt;
  switch (of.launch) {
    case launch_state::asked:
      if (of.at_open) return of.opened;
      if (!has_reached(now.opened, static_cast<std::uint32_t>(of.bubble))) return std::nullopt;
      return of.opened + of.where->inside.patience();
    case launch_state::let_go:
      return of.opened;
    case launch_state::left:
      return any_stands() ? std::optional{of.again_at} : std::nullopt;
    default:
      return std::nullopt;
  }
}

void gate::note_left(std::uint64_t bubble) {
  std::lock_guard const lock{mutex_};
  placed& now = placed_of(bubble);
  bool const inside = open_ && bubble == bubbles_ && now.bubble == bubble && now.launches_inside != 0;
  bool const worked = now.launch == launch_state::enqueued || now.launch == launch_state::pending;
  if (!inside || !worked || !has_opened(bubble)) return;
  settle_launch(now, launch_state::left);
  auto const at = steady::now();
  bool const by_lease = at - now.launched >= now.lease;
  if (by_lease) now.ended_lease = std::max(now.ended_lease, now.lease);
  now.again_at = at + (by_lease ? open_lease::look_after : without_work);
}

/// Returns 0 if none was let go.
std::uint64_t gate::first_let_go() const {
  for (std::uint64_t bubble = collected_ + 1; let_go_ != 0 && bubble <= bubbles_; ++bubble) {
    if (placed_of(bubble).launch == launch_state::let_go) return bubble;
  }
  return 0;
}

/// Counts from what is known last: the close of the bubble before, or else the last opening.
std::optional<gate::opening> gate::expected(std::uint64_t bubble) {
  auto const behind = static_cast<std::int32_t>(static_cast<std::uint32_t>(bubbles_) - numbers().opened);
  if (behind < 0) return std::nullopt;  // the stream has come to a bubble that is being enqueued
  std::uint64_t const reached = bubbles_ - static_cast<std::uint64_t>(behind);
  if (reached == 0 || reached >= bubble || reached + 1 < known_from_) return std::nullopt;
  bool const by_close = reached == last_.bubble && last_.closed_ns != 0;
  bool const goes_on = ahead_.from == reached && ahead_.by_close == by_close && ahead_.to <= bubble;
  summed_up sum = goes_on ? ahead_ : summed_up{.from = reached, .to = reached, .by_close = by_close};
  while (sum.to != bubble) {
    void const* const before = placed_of(sum.to).where.get();
    forecast const& next = placed_of(++sum.to).where->opens;
    bool const is_first = sum.to == reached + 1;
    auto const later = by_close && is_first ? next.after_close(before) : next.after_opening(before);
    if (!later) return std::nullopt;
    sum.distance += *later;
  }
  ahead_ = sum;
  std::uint64_t const from_ns = by_close ? last_.closed_ns : opened_ns();
  return opening{from_ns + static_cast<std::uint64_t>(sum.distance.count()), sum.distance};
}

/// Returns how long workers may stay that are launched now, before the host has closed the bubble: the edge that ends
/// them is not enqueued yet. Call under the lock.
std::chrono::nanoseconds gate::lease_inside(placed& of) const {
  open_lease const& site = of.where->inside;
  bool const is_first = of.launches_inside++ == 0;
  auto const now = steady::now();
  bool const grows = !is_first && of.ended_lease >= of.lease;
  auto const wanted = is_first ? site.first() : grows ? site.after(of.lease, now - of.opened) : of.lease;
  of.launched = now;
  of.max_lease_inside = std::max(of.max_lease_inside, wanted);
  return wanted;
}

std::optional<std::chrono::nanoseconds> gate::launch(std::uint64_t bubble, start_when when, arming how) {
  // Counted before reading what is placed. So after a place is seen empty while nothing is being launched, no launch
  // includes it.
  struct on_its_way {
    explicit on_its_way(std::atomic<int>& count) : count_(count) { ++count_; }
    ~on_its_way() { --count_; }
    std::atomic<int>& count_;
  } const counted_here{launching_};
  std::array<armed_worker, places> stands;
  std::chrono::nanoseconds lease{0};
  bubble_mark& mark = mark_of(bubble);
  {
    std::lock_guard const lock{mutex_};
    stands = armed_;
    placed& now = placed_of(bubble);
    bool const ended = bubble < bubbles_ || !open_;
    if (when == start_when::opened)
      settle_launch(now, launch_state::pending);  // it may be let go before it is enqueued
    bool const again = !ended && now.launches_inside != 0;
    if (!ended) now.lease = std::min(lease_, lease_inside(now));
    lease = now.lease;
    for (armed_worker& each : stands) {
      each.params.bubble = bubble;
      each.params.again = again ? 1 : 0;
      if (!again) each.params.usual = now.where->past.usual_bubble();
      if (!again && !each.kernel.conducts) each.params.rest = now.where->past.rest();
      if (now.halved && each.grid.can_halve()) each.grid.halve();
      if (!ended) each.params.max_lease_ns = static_cast<std::uint64_t>(now.lease.count());
    }
  }
  std::array<std::uint64_t, places> blocks{};
  std::size_t worker = 0;
  bool has_thrown = false;  // a wait may be on the workers' stream all the same: it is let go like another
  auto const settle = [&] {
    std::lock_guard const lock{mutex_};
    placed& now = placed_of(bubble);
    now.blocks = blocks;
    if (follows() && numbers().opened == static_cast<std::uint32_t>(bubble)) now.opened_ns = opened_ns();
    // Read after the launch, which may take as long as the trainer's thread is in the driver.
    now.armed = when == start_when::opened && !has_opened(bubble);
    bool const waits = now.launch == launch_state::pending;
    if (worker != 0 && now.armed && how == arming::beside && waits) now.pending_since = steady::now();
    counts_[counted::launches] += worker;
    if (worker != 0 && now.armed) ++counts_[counted::armed];
    if (bubble > decided_ && expected_before_launch(now)) now.where->opens.note(now.armed);
    bool const inside = open_ && bubble == bubbles_;
    if (worker == 0 && !has_thrown) {
      settle_launch(now, inside ? launch_state::left : launch_state::no_workers);
      now.again_at = steady::now() + without_work;
    } else if (when == start_when::at_once) {
      settle_launch(now, launch_state::enqueued);
    }
    note_decided(bubble);
  };
  try {
    for (armed_worker& each : stands) {
      if (each.params.slot == nullptr) continue;
      each.params.gate.records = ring(worker).at;
      executor_.launch(each.kernel, each.grid, each.params, &mark, worker == 0 ? when : start_when::at_once);
      blocks[worker++] = each.grid.blocks;
    }
  } catch (...) {
    has_thrown = true;
    settle();
    throw;
  }
  settle();
  return worker != 0 ? std::optional{lease} : std::nullopt;
}

void gate::pass(std::uint64_t bubble) {
  std::lock_guard const lock{mutex_};
  placed& of = placed_of(bubble);
  if (bubble > decided_ && expected_before_launch(of) && !of.abandoned) of.where->opens.note(false);
  of.passed = of.is_wanted();
  settle_launch(of, launch_state::no_workers);
  note_decided(bubble);
}

void gate::note_pause(std::uint64_t bubble) {
  std::lock_guard const lock{mutex_};
  placed_of(bubble).after_pause = true;
}

/// Call under the lock.
void gate::settle_launch(placed& of, launch_state now) noexcept {
  if (of.launch == launch_state::let_go) --let_go_;
  if (now == launch_state::let_go) ++let_go_;
  of.launch = now;
}

/// Returns whether the workers could have been enqueued before the bubble opened, had the opening been expected in
/// time.
bool gate::expected_before_launch(placed const& of) const {
  return !of.timed && !of.is_anothers && of.host_ahead.value_or(false) &&
         of.where->opens.after_opening(placed_of(of.bubble - 1).where.get());
}

opening_numbers gate::numbers() const noexcept {
  return opening_numbers::of(executor_.load_mapped(&opening_->numbers));
}

std::uint64_t gate::opened_ns() const noexcept { return executor_.load_mapped(&opening_->opened_ns); }

std::optional<std::uint64_t> gate::take_opening() noexcept {
  std::uint32_t const opened = numbers().opened;
  if (std::exchange(opening_told_, opened) == opened) return std::nullopt;
  return opened_ns();
}

void gate::release(std::uint64_t bubble) {
  {
    std::lock_guard const lock{mutex_};
    placed& now = placed_of(bubble);
    if (now.bubble != bubble) return;  // its place belongs to another bubble
    if (now.launch == launch_state::pending && !has_opened(bubble)) {
      settle_launch(now, launch_state::let_go);
      if (now.pending_since) now.waited_before += steady::now() - *std::exchange(now.pending_since, std::nullopt);
      ++counts_[counted::released];
    }
    if (now.launch != launch_state::let_go) return;
  }
  std::atomic_ref<std::uint64_t> const numbers{opening_->numbers};
  std::uint64_t seen = numbers.load(std::memory_order_relaxed);
  for (;;) {
    opening_numbers wanted = opening_numbers::of(seen);
    if (has_reached(wanted.go, static_cast<std::uint32_t>(bubble))) return;
    wanted.go = static_cast<std::uint32_t>(bubble);
    // relaxed: workers that start at this find a closed gate, or one that has opened meanwhile
    if (numbers.compare_exchange_weak(seen, wanted.word(), std::memory_order_relaxed)) return;
  }
}

}  // namespace lull::detail
