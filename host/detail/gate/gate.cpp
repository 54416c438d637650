// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/gate/gate.hpp>

#include <algorithm>
#include <utility>

#include <lull/host/cuda/nvtx.hpp>

namespace lull::detail {

namespace {

using steady = std::chrono::steady_clock;

}  // namespace

gate::gate(executor& executor, std::uint32_t index, std::uint32_t first_value, site_limits limits)
    : executor_(executor),
      index_(index),
      line_(executor, 1),
      ring_(executor, places * records),
      opening_line_(executor, 1),
      value_(first_value),
      sites_(limits),
      pinned_(executor, 1) {
  ref_ = {line_.data(), ring_.data(), records - 1, opening_line_.device()};
  seen_.value = first_value;
  line_.write({&seen_, 1});
  for (std::uint64_t i = 0; i < records; ++i) marks_.push_back(executor_.make_mark());
}

void gate::take(std::uint64_t stream_id) {
  {
    std::lock_guard const lock{mutex_};
    sites_.clear();
    close_policy_ = {};
    last_ = {};
    ahead_ = {};
    last_used_ = steady::now();
  }
  // release: the cleared history, to the trainer's thread that finds its stream here
  stream_id_.store(stream_id, std::memory_order_release);
}

std::optional<steady::time_point> gate::idle_since() const {
  std::lock_guard const lock{mutex_};
  return open_ ? std::nullopt : unused_since();
}

std::optional<steady::time_point> gate::left_open_since() const {
  std::lock_guard const lock{mutex_};
  return open_ ? unused_since() : std::nullopt;
}

/// Call under the lock.
std::optional<steady::time_point> gate::unused_since() const {
  std::uint64_t const to_come = open_ ? 1 : 0;
  if (stream_id() == 0 || collected_ + to_come != bubbles_) return std::nullopt;
  return last_used_;
}

bool gate::is_in_use() const {
  if (stream_id() == 0) return false;  // without the lock, because most gates are free
  std::lock_guard const lock{mutex_};
  return stream_id() != 0 && (open_ || steady::now() - last_used_ < std::chrono::seconds{1});
}

void gate::vacate(steady::time_point since) {
  std::unique_lock const edges{edges_, std::try_to_lock};
  auto const unused = [this] {
    std::lock_guard const lock{mutex_};
    return unused_since();
  };
  if (!edges || unused() != since || !passed()) return;  // it is opening a bubble, or has opened one meanwhile
  stream_id_.store(0, std::memory_order_release);
}

void gate::arm(int place, armed_worker what) noexcept {
  std::lock_guard const lock{mutex_};
  what.params.gate = ref_;
  armed_[static_cast<std::size_t>(place)] = what;
}

bool gate::ready() const noexcept {
  std::lock_guard const lock{mutex_};
  return any_stands();
}

bool gate::any_stands() const noexcept {
  return std::any_of(armed_.begin(), armed_.end(), [](armed_worker const& s) { return s.params.slot != nullptr; });
}

/// Call under the lock.
open_result gate::pass_over(counted why) {
  ++counts_[why];
  return {{}, why};
}

open_result gate::open(stream_handle stream, std::uint64_t stream_id, site where, runtime_mode mode, launch_time launch,
                       bool halved) {
  std::lock_guard const edges{edges_};
  std::unique_lock lock{mutex_};
  if (stream_id != this->stream_id()) return pass_over(counted::no_gate);  // the gate was taken back a moment ago
  last_used_ = steady::now();
  if (open_) {
    placed& before = placed_of(bubbles_);
    bool const abandoned = before.where->name == where.name || last_used_ - before.opened > lease_;
    if (!abandoned) return pass_over(counted::nested);
    ++counts_[counted::abandoned];
    before.abandoned = true;
    lock.unlock();
    end_bubble(stream, closing{});
    lock.lock();
  }
  if (mode == runtime_mode::on && !any_stands()) return pass_over(counted::no_job);
  if (bubbles_ - collected_ >= records) return pass_over(counted::records_unread);
  std::shared_ptr<site_state> const at = sites_.find(where.name);
  if (mode == runtime_mode::on) {
    at->past.begin_bubble();
    switch (at->past.judge()) {
      case history::verdict::harvest:
        break;
      case history::verdict::too_short:
        return pass_over(counted::too_short);
      case history::verdict::handed_back:
        return pass_over(counted::all_handed_back);
    }
  }
  std::uint64_t const bubble = bubbles_ + 1;
  bool const timed = mode == runtime_mode::observe;
  placed const now{.bubble = bubble,
                   .launch = launch_state::asked,
                   .where = at,
                   .timed = timed,
                   .at_open = !timed && (launch == launch_time::at_open || at->past.better_at_open()),
                   .halved = halved,
                   .host_ahead = {},
                   .length = {},
                   .lease = lease_,
                   .opened = last_used_};
  lock.unlock();
  executor_.open_edge(stream, ref_, value_ + 1, bubble, mark_of(bubble), timed);
  lock.lock();
  // Only now: a number counts only if its edge was enqueued.
  ++value_;
  bubbles_ = bubble;
  placed_of(bubble) = now;
  placed_of(bubble).range = begin_range(at->name.c_str());
  open_ = true;
  ++counts_[counted::opened];
  return {{index_, bubble}, counted::opened};
}

void gate::close(bubble_id id, stream_handle stream, stream_found const& found, std::optional<closing> asked) {
  std::lock_guard const edges{edges_};
  std::unique_lock lock{mutex_};
  // An edge that went into a graph, or onto another stream, would close later bubbles and not this one.
  if (!open_ || id.bubble != bubbles_ || found.is != stream_found::plain || found.id != stream_id()) {
    ++counts_[counted::unmatched];
    return;
  }
  closing const how =
      placed_of(bubbles_).timed ? closing{} : asked.value_or(close_policy_.choose(executor_.launch_gap()));
  lock.unlock();
  end_bubble(stream, how);
}

/// Closes the open bubble, without the lock.
void gate::end_bubble(stream_handle stream, closing how) {
  placed& now = placed_of(bubbles_);
  bool const host_ahead = !has_opened(bubbles_);
  executor_.close_edge(stream, ref_, value_ + 1, mark_of(bubbles_), now.timed, how);
  std::lock_guard const lock{mutex_};
  ++value_;
  open_ = false;
  now.closed = steady::now();
  now.host_ahead = host_ahead;
  if (now.at_open) now.where->past.add_host_time(now.closed - now.opened);
  end_range(now.range);
}

std::optional<launch_request> gate::request() {
  std::lock_guard const lock{mutex_};
  opening_numbers const now = numbers();
  std::uint64_t const late = first_let_go();
  bool const again = late != 0 && has_reached(now.opened, static_cast<std::uint32_t>(late));
  std::uint64_t const next = again ? late : decided_ + 1;
  if (next > bubbles_) return std::nullopt;
  placed const& of = placed_of(next);
  bool const ended = next < bubbles_ || !open_;
  if (!ended && (!of.at_open || of.timed)) return std::nullopt;
  bool const wanted = !of.timed && !of.abandoned;
  auto const opens = wanted ? expected(next) : std::nullopt;
  auto const after_call = of.where->opens.after_call();
  return launch_request{
      .bubble = next,
      .wanted = wanted,
      .opened = has_reached(now.opened, static_cast<std::uint32_t>(next)),
      .over = has_reached(now.opened, static_cast<std::uint32_t>(next + 1)),
      .after_late = !again && late != 0,
      .opened_ns = opened_ns(),
      .usual_length = of.where->past.longest(),
      .expected_ns = opens ? std::optional{opens->at_ns} : std::nullopt,
      .ahead = of.where->opens.ahead(opens.value_or(opening{}).distance),
      .since = ended ? of.closed : of.opened,
      .called = of.opened,
      .after_call = after_call,
      .ahead_of_call = of.where->opens.ahead_of_call(after_call.value_or(std::chrono::nanoseconds{0}))};
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
  if (reached == 0 || reached >= bubble) return std::nullopt;
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

bool gate::launch(std::uint64_t bubble, start_when when, arming how) {
  // Counted before reading what is placed. So after a place is seen empty while nothing is being launched, no launch
  // includes it.
  struct on_its_way {
    explicit on_its_way(std::atomic<int>& count) : count_(count) { ++count_; }
    ~on_its_way() { --count_; }
    std::atomic<int>& count_;
  } const counted_here{launching_};
  std::array<armed_worker, places> stands;
  bubble_mark& mark = mark_of(bubble);
  {
    std::lock_guard const lock{mutex_};
    stands = armed_;
    placed& now = placed_of(bubble);
    bool const ended = bubble < bubbles_ || !open_;
    if (when == start_when::opened)
      settle_launch(now, launch_state::pending);  // it may be let go before it is enqueued
    // The edge that ends these workers is not enqueued yet.
    if (!ended) now.lease = std::min(now.lease, now.where->past.lease_of_open());
    for (armed_worker& each : stands) {
      each.params.bubble = bubble;
      each.params.usual = now.where->past.usual_bubble();
      if (!each.kernel.conducts) each.params.rest = now.where->past.rest();
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
    // Read after the launch, which may take as long as the trainer's thread is in the driver.
    now.armed = when == start_when::opened && !has_opened(bubble);
    bool const waits = now.launch == launch_state::pending;
    if (worker != 0 && now.armed && how == arming::beside && waits) now.pending_since = steady::now();
    counts_[counted::launches] += worker;
    if (worker != 0 && now.armed) ++counts_[counted::armed];
    if (bubble > decided_ && expected_before_launch(now)) now.where->opens.note(now.armed);
    if (worker == 0 && !has_thrown) {
      settle_launch(now, launch_state::no_workers);
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
  return worker != 0;
}

void gate::pass(std::uint64_t bubble) {
  std::lock_guard const lock{mutex_};
  placed& of = placed_of(bubble);
  if (bubble > decided_ && expected_before_launch(of) && !of.abandoned) of.where->opens.note(false);
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
  return !of.timed && of.host_ahead.value_or(false) &&
         of.where->opens.after_opening(placed_of(of.bubble - 1).where.get());
}

opening_numbers gate::numbers() const noexcept {
  return opening_numbers::of(executor_.load_mapped(&opening_line_.host()->numbers));
}

std::uint64_t gate::opened_ns() const noexcept { return executor_.load_mapped(&opening_line_.host()->opened_ns); }

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
  std::atomic_ref<std::uint64_t> const numbers{opening_line_.host()->numbers};
  std::uint64_t seen = numbers.load(std::memory_order_relaxed);
  for (;;) {
    opening_numbers wanted = opening_numbers::of(seen);
    if (has_reached(wanted.go, static_cast<std::uint32_t>(bubble))) return;
    wanted.go = static_cast<std::uint32_t>(bubble);
    // relaxed: workers that start at this find a closed gate, or one that has opened meanwhile
    if (numbers.compare_exchange_weak(seen, wanted.word(), std::memory_order_relaxed)) return;
  }
}

runtime_counts gate::counts() const {
  std::lock_guard const lock{mutex_};
  return counts_;
}

bool gate::passed() const {
  std::lock_guard const lock{mutex_};
  return executor_.passed(seen_, value_);
}

void gate::note_lease(std::chrono::nanoseconds lease) noexcept {
  std::lock_guard const lock{mutex_};
  lease_ = lease;
}

}  // namespace lull::detail
