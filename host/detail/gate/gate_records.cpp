// SPDX-License-Identifier: Apache-2.0
// What a gate learns from bubbles that are over.
#include <lull/host/detail/gate/gate.hpp>

#include <algorithm>
#include <utility>

namespace lull::detail {

namespace {

using steady = std::chrono::steady_clock;

/// Returns when workers first saw the close; 0: none did.
std::uint64_t closed_ns(bubble_record const& record) { return record.not_saw_ns == 0 ? 0 : ~record.not_saw_ns; }

/// Returns a bubble's length as its workers saw it: from the opening to the first sight of the close.
std::optional<std::chrono::nanoseconds> seen(bubble_record const& record) {
  if (record.opened_ns == 0 || record.not_saw_ns == 0 || closed_ns(record) < record.opened_ns) return std::nullopt;
  return std::chrono::nanoseconds{closed_ns(record) - record.opened_ns};
}

}  // namespace

std::uint64_t gate::outstanding() const {
  std::lock_guard const lock{mutex_};
  return bubbles_ - collected_;
}

std::chrono::nanoseconds gate::longest() const {
  std::lock_guard const lock{mutex_};
  return sites_.longest();
}

bool gate::begin_collecting(copy_lane& lane, bool at_the_end) {
  // Stops before the first bubble whose workers were let go: others are enqueued for it.
  auto const latest = [this] {
    std::uint64_t const late = first_let_go();
    return std::min(late == 0 ? decided_ : late - 1, open_ ? bubbles_ - 1 : bubbles_);
  };
  std::uint64_t past = 0;
  std::uint64_t until = 0;
  {
    std::lock_guard const lock{mutex_};
    copied_from_ = copied_past_ = past = collected_ + 1;
    until = latest();
  }
  // A record is read when its workers have certainly left.
  while (past <= until && ask_if_over(past)) ++past;
  {
    std::lock_guard const lock{mutex_};
    copied_past_ = std::max(copied_from_, std::min(past, latest() + 1));  // a wait may have been ended meanwhile
    for (std::uint64_t bubble = copied_from_; bubble < copied_past_; ++bubble)
      settle_launch(placed_of(bubble), launch_state::out);
  }
  if (copied_past_ == copied_from_) {
    if (!may_pass_unseen(at_the_end)) return false;
    lane.copy_out(&pinned_.data()->line, ref_.line, sizeof(gate_line));
    return true;
  }
  copied_successors_ = [&] {
    std::lock_guard const lock{mutex_};
    bool any = false;  // also of the bubble before: a late block works in the bubble after its own
    for (std::uint64_t bubble = copied_from_ - 1; bubble < copied_past_; ++bubble)
      any = any || placed_of(bubble).blocks[1] != 0;
    return any;
  }();
  copies& to = *pinned_.data();
  for (std::size_t worker = 0; worker < (copied_successors_ ? 2U : 1U); ++worker)
    ring(worker).take(lane, copied_from_, copied_past_, to.of_worker[worker].data(), to.zeros.data());
  lane.copy_out(&pinned_.data()->line, ref_.line, sizeof(gate_line));
  return true;
}

/// Returns whether the line must be copied although no record is: the last closing edge may come long after the last
/// workers have left. At the end a bubble may still be open.
bool gate::may_pass_unseen(bool at_the_end) const {
  std::lock_guard const lock{mutex_};
  return !follows() && seen_.value != value_ && (at_the_end || (!open_ && collected_ == bubbles_));
}

void gate::collect(collected_bubbles const& to) {
  device_clock& clock = to.clock;
  auto const now = steady::now();
  std::lock_guard const lock{mutex_};
  for (std::uint64_t bubble = copied_from_; bubble < copied_past_; ++bubble) {
    placed& was = placed_of(bubble);
    bubble_report one = told(bubble);
    bubble_record const record = one.record();
    auto const seen_length = was.timed ? was.length : seen(record);
    auto const length = seen_length ? seen_length : told_by_host(was, record, clock);
    collected_ = bubble;
    if (seen_length && !was.timed) close_policy_.add(std::chrono::nanoseconds{record.last_out_ns - closed_ns(record)});
    if (record.last_out_ns != 0) clock.note(record.last_out_ns, now);
    was.held_up = was_held_up(was, record, now, clock);
    if (was.held_up) ++counts_[counted::held_up];
    if (!was.timed) was.where->held_up.add(was.held_up);
    if (was.launches_inside != 0) was.where->inside.add_close(closed_soon(was, record, clock));
    if (!was.timed && was.where->held_up.twice()) held_up_ = was.where->name;
    learn(was, record, length, clock);
    one.waited = waited(was, record.opened_ns, clock);
    one.length = length.value_or(std::chrono::nanoseconds{0});
    to.into.push_back(std::move(one));
  }
  copied_from_ = copied_past_;
  gate_line const& line = pinned_.data()->line;
  // an edge is enqueued before its value is counted
  bool const is_its_own = has_reached(line.value, seen_.value) && has_reached(value_ + 1, line.value);
  is_forged_ = is_forged_ || (!follows() && !is_its_own);
  seen_ = line;
}

/// Returns the length of a bubble that had opened before the host closed it, by the host's clock: no worker may have
/// seen its end.
std::optional<std::chrono::nanoseconds> gate::told_by_host(placed const& was, bubble_record const& record,
                                                           device_clock const& clock) {
  if (was.timed || was.abandoned || was.host_ahead.value_or(true)) return std::nullopt;
  auto const opened = clock.at(record.opened_ns);
  if (record.opened_ns == 0 || !opened || *opened >= was.closed) return std::nullopt;
  return was.closed - *opened;
}

/// Returns whether workers left by their lease and the host closed the bubble soon after that.
bool gate::closed_soon(placed const& was, bubble_record const& record, device_clock const& clock) {
  auto const left = clock.at(record.last_out_ns);
  return record.lease_blocks != 0 && record.not_saw_ns == 0 && left && was.closed - *left < open_lease::soon;
}

/// Returns whether all blocks left by their lease and the close came just after. Then what the bubble waited for had
/// waited for the blocks, or a pause of the trainer ended there by chance. If the host may wait inside the bubble, the
/// host may have been what waited.
bool gate::was_held_up(placed const& was, bubble_record const& record, steady::time_point now,
                       device_clock const& clock) const {
  if (was.timed || was.launches_inside != 0 || !all_left_by_lease(record)) return false;
  gate_line const& line = pinned_.data()->line;
  bool const closed = line.bubbles > was.bubble || !is_open(line.value);
  auto const left = clock.at(record.last_out_ns);
  return closed && left && hold_ups::is_one(now - *left, was.lease);
}

std::optional<std::chrono::nanoseconds> gate::waited(placed const& was, std::uint64_t opened_ns,
                                                     device_clock const& clock) {
  auto const opened = clock.at(opened_ns);
  if (opened_ns == 0 || !opened || (!was.pending_since && was.waited_before.count() == 0)) return std::nullopt;
  auto const last =
      was.pending_since ? std::max(*opened - *was.pending_since, steady::duration{0}) : steady::duration{0};
  return was.waited_before + last;
}

/// Returns what is known of a length that is not: workers that left before the close were there for a part of it, which
/// tells something only if that part is worth it. 0: nothing is known.
std::chrono::nanoseconds gate::shortest_possible(placed const& was, bubble_record const& record) {
  if (record.blocks == 0 || record.opened_ns == 0) return std::chrono::nanoseconds{0};
  std::chrono::nanoseconds const part =
      record.lease_blocks != 0 ? was.lease : std::chrono::nanoseconds{record.last_out_ns - record.opened_ns};
  return part >= was.where->past.shortest_worth_it() ? part : std::chrono::nanoseconds{0};
}

/// Returns whether workers came after the close, or could not be enqueued before it, although the host was ahead.
bool gate::came_too_late(placed const& was, bubble_record const& record) {
  if (!was.host_ahead.value_or(false) || record.blocks != 0) return false;
  if (record.starved_blocks != 0 || record.idle_blocks != 0 || record.held_blocks != 0) return false;
  return was.passed || was.blocks[0] + was.blocks[1] != 0;
}

/// Learns about a site from a bubble that is over.
void gate::learn(placed const& was, bubble_record const& record, std::optional<std::chrono::nanoseconds> length,
                 device_clock const& clock) {
  site_state& at = *was.where;
  ahead_ = {};
  if (was.timed) {
    if (length) at.past.add_length(*length);
  } else if (!was.is_anothers) {
    // If all blocks left early, the bubble may have been longer than they know, by as much as the lease; if it waited
    // for them, its own length is unknown.
    auto const at_least = was.held_up ? std::chrono::nanoseconds{0} : shortest_possible(was, record);
    std::uint64_t const start_ns = record.blocks != 0 ? record.in_ns / record.blocks : 0;
    at.past.add({.length = length.value_or(at_least),
                 .since_look = std::chrono::nanoseconds{record.since_look_ns},
                 .start = std::chrono::nanoseconds{static_cast<std::int64_t>(start_ns)},
                 .working = record.blocks,
                 .chunks = record.chunks,
                 .handed_back = record.handed_back,
                 .drain = drain_of(record, closed_ns(record)),
                 .came_late = !length && came_too_late(was, record),
                 .at_open = was.at_open,
                 .inside = was.launches_inside != 0,
                 .host_late = !was.host_ahead.value_or(true)});
  }
  if (record.opened_ns != 0) {
    if (was.after_pause) {
      if (auto const opened = clock.at(record.opened_ns)) at.opens.add_after_pause(*opened - was.opened);
    } else if (last_.bubble != 0 && last_.bubble + 1 == was.bubble) {
      auto const since = [&](std::uint64_t moment) { return std::chrono::nanoseconds{record.opened_ns - moment}; };
      at.opens.add(last_.where, since(last_.opened_ns),
                   last_.closed_ns != 0 ? std::optional{since(last_.closed_ns)} : std::nullopt);
    }
    last_ = {was.bubble, &at, record.opened_ns, closed_ns(record)};
  }
  sites_.note(at);
}

/// Returns whether a bubble is over: its workers have left and it was opened, which stamps the record. The stream may
/// not yet have reached a bubble without a worker, whose job went before the close. For an observed bubble the end must
/// be reached: the length is asked for once, and kept.
bool gate::ask_if_over(std::uint64_t bubble) {
  bubble_mark& mark = mark_of(bubble);
  bool const timed = [&] {
    std::lock_guard const lock{mutex_};
    return placed_of(bubble).timed;
  }();
  if (!has_opened(bubble)) return false;
  if (!timed) return executor_.workers_left(mark);
  auto const length = executor_.length(mark);
  std::lock_guard const lock{mutex_};
  placed_of(bubble).length = length;
  return length.has_value();
}

/// Returns the report of a bubble whose records are copied, without its length.
bubble_report gate::told(std::uint64_t bubble) const {
  placed const& was = placed_of(bubble);
  bubble_record record = copied(0, bubble);
  if (follows()) record.opened_ns = was.opened_ns;  // its edge has stamped the trainer's own record
  return {.gate = index_,
          .site = was.where->name,
          .opened_ns = static_cast<std::int64_t>(record.opened_ns),
          .host_ahead = was.host_ahead,
          .armed = was.armed,
          .lease = was.lease,
          .current = {was.blocks[0], record},
          .successor = {was.blocks[1], copied_successors_ ? copied(1, bubble) : bubble_record{}}};
}

}  // namespace lull::detail
