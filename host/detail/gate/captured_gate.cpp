// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/gate/captured_gate.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lull::detail {

namespace {

/// A worker's lease where no SMs are reserved for what a bubble waits for.
constexpr std::uint64_t lease_without_reserved_ns = 200'000;

/// Returns whether the words are so close that the machine need not be told.
bool is_alike(site_words const& one, site_words const& other) noexcept {
  constexpr std::int64_t near_ns = 1'000;
  auto const near = [](std::uint32_t a, std::uint32_t b) {
    return std::abs(std::int64_t{a} - std::int64_t{b}) < near_ns;
  };
  return one.skip == other.skip && near(one.rest.from_ns, other.rest.from_ns) &&
         near(one.rest.until_ns, other.rest.until_ns);
}

}  // namespace

captured_gate::captured_gate(executor& executor, captured_sites& sites, std::uint32_t index, gate_line* line,
                             site_words* words, std::uint32_t* withheld, std::uint64_t capture, stream_handle stream,
                             std::span<captured_type const> types)
    : executor_(executor),
      known_sites_(sites),
      index_(index),
      capture_(capture),
      stream_(stream),
      ring_(executor, records),
      words_(executor, max_sites),
      words_to_be_(words),
      withheld_(withheld),
      slot_lines_(executor, std::max<std::size_t>(types.size(), 1)),
      no_group_is_reserved_(executor.place().owned_processors + executor.place().reserved_later ==
                            executor.place().processors),
      // release: what the graph's launches did to the gate, to the thread that finds it gone
      not_kept_yet_(this, [gone = graph_gone_](void const*) { gone->store(true, std::memory_order_release); }) {
  ref_ = {line, ring_.data(), records - 1, nullptr, &line->awaited};
  std::fill_n(words_to_be_, max_sites, site_words{});
  for (std::size_t t = 0; t < types.size(); ++t)
    slots_.push_back({slot_lines_.data() + t, types[t].kernel, types[t].grid});
}

std::uint32_t captured_gate::find(site where) {
  std::lock_guard const lock{mutex_};
  auto const known =
      std::find_if(sites_.begin(), sites_.end(), [&](site_here const& s) { return s.what->name == where.name; });
  if (known != sites_.end()) return static_cast<std::uint32_t>(known - sites_.begin());
  sites_.push_back({.what = known_sites_.find(where)});
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

open_result captured_gate::open(stream_handle stream, site where) {
  std::lock_guard const nodes{nodes_};
  if (not_kept_yet_ != nullptr) {  // before there is a node that writes to the gate
    executor_.capture_keep(stream, not_kept_yet_);
    not_kept_yet_.reset();
  }
  std::uint32_t const at = find(where);
  if (open_) {
    bool const is_nested = at != open_site_;
    count(is_nested ? counted::nested : counted::abandoned);
    if (is_nested) return {{}, counted::nested};
    add_close(stream);
  }
  std::vector<captured_worker> workers;
  for (captured_slot const& each : slots_) {
    worker_params params;
    params.slot = each.slot;
    params.gate = ref_;
    params.withheld = withheld_;
    params.site = at < max_sites ? words_.data() + at : nullptr;
    if (no_group_is_reserved_) params.max_lease_ns = lease_without_reserved_ns;
    workers.push_back({each.kernel, each.grid, params});
  }
  opening_ = executor_.capture_open(stream, ref_, value_ + 1, workers);
  ++value_;
  ++bubbles_;
  open_ = true;
  open_site_ = at;
  count(counted::captured);
  return {{index_, bubbles_}, counted::captured};
}

void captured_gate::close(bubble_id id, stream_handle stream) {
  std::lock_guard const nodes{nodes_};
  if (!open_ || id.bubble != bubbles_ || stream != stream_ || executor_.capture_of(stream) != capture_)
    return count(counted::unmatched);
  add_close(stream);
}

void captured_gate::add_close(stream_handle stream) {
  executor_.capture_close(stream, ref_, value_ + 1, open_site_, opening_);
  ++value_;
  open_ = false;
}

void captured_gate::count(counted what) {
  std::lock_guard const lock{mutex_};
  ++counts_[what];
}

void captured_gate::note(gate_line const& line, bool over) {
  // The last bubble may still be open, or its workers may be leaving. It is read after another has come, or none has
  // since the last look.
  bool const idle = over || (line.bubbles == noted_ && !lull::is_open(line.value));
  noted_ = line.bubbles;
  known_ = std::max(read_, idle || line.bubbles == 0 ? line.bubbles : line.bubbles - 1);
  over_ = over;
}

/// The gate line is copied last. If it is a ring ahead, records may be torn; drop them all.
void captured_gate::take(unread which, bubble_record const* copies, std::uint64_t working, std::uint32_t report_index,
                         std::deque<bubble_report>& into) {
  std::lock_guard const lock{mutex_};
  if (noted_ - read_ >= records) {
    counts_[counted::replayed] += known_ - read_;
    counts_[counted::dropped] += known_ - read_;
    read_ = known_;
    ring_is_mixed_ = true;
    return;
  }
  for (std::uint64_t bubble = which.from; bubble < which.past; ++bubble) {
    bubble_record const& record = copies[bubble - which.from];
    bool const closed = record.bubble == static_cast<std::uint32_t>(bubble) && record.site < sites_.size();
    ++counts_[counted::replayed];
    if (!closed) ++counts_[counted::dropped];
    if (closed) learn(record, working, report_index, into);
  }
  read_ = which.past - 1;
  decide();
}

void captured_gate::write_to(copy_lane& lane, bubble_record const* zeros) {
  if (std::exchange(words_changed_, false)) lane.copy_in(words_.data(), words_to_be_, words_.bytes());
  if (std::exchange(ring_is_mixed_, false)) lane.copy_in(ring_.data(), zeros, ring_.bytes());
}

/// As gate::was_held_up; here the close itself is known. A lease that is short because no SMs are reserved proves
/// nothing: bubbles may be as long.
bool captured_gate::was_held_up(bubble_record const& record) const {
  if (no_group_is_reserved_ || !all_left_by_lease(record)) return false;
  auto const between = [](std::uint64_t from, std::uint64_t to) {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(to - from)};
  };
  return hold_ups::is_one(between(record.last_out_ns, record.closed_ns), between(record.opened_ns, record.last_out_ns));
}

/// Learns from a replayed bubble. One that was skipped, or had no worker, tells only its length.
void captured_gate::learn(bubble_record const& record, std::uint64_t working, std::uint32_t report_index,
                          std::deque<bubble_report>& into) {
  site_here& at = sites_[record.site];
  site_state& site = *at.what;
  at.seen = true;
  std::chrono::nanoseconds const length{record.closed_ns > record.opened_ns ? record.closed_ns - record.opened_ns : 0};
  if (at.verdict != history::verdict::harvest) {
    ++counts_[at.verdict == history::verdict::too_short ? counted::too_short : counted::all_handed_back];
    site.past.add_length(length);
  } else if (record.blocks == 0) {
    site.past.add_length(length);
  } else {
    bool const held_up = was_held_up(record);
    if (held_up) ++counts_[counted::held_up];
    site.held_up.add(held_up);
    if (site.held_up.twice()) held_up_ = site.name;
    site.past.add(harvest_seen{.length = length,
                               .chunks = record.chunks,
                               .handed_back = record.handed_back,
                               .drain = drain_of(record, record.closed_ns),
                               .at_open = true});
  }
  bool const had_worker = record.blocks != 0;
  cap_.add(std::chrono::nanoseconds{static_cast<std::int64_t>(record.opened_ns)},
           had_worker ? site.past.price() : std::chrono::nanoseconds{0});
  known_sites_.note(site);
  into.push_back({.gate = report_index,
                  .site = site.name,
                  .length = length,
                  .opened_ns = static_cast<std::int64_t>(record.opened_ns),
                  .host_ahead = true,  // a replay asks no host
                  .lease = {},
                  .current = {record.blocks != 0 ? working : 0, record},
                  .successor = {}});
}

/// Decides which sites' workers leave at once from now on, which no longer do, and when they rest.
void captured_gate::decide() {
  for (std::size_t i = 0; i < std::min(sites_.size(), max_sites); ++i) {
    site_here& at = sites_[i];
    if (!std::exchange(at.seen, false)) continue;
    at.what->past.begin_bubble(cap_.times());
    at.verdict = at.what->past.judge();
    site_words const wanted{at.verdict != history::verdict::harvest ? 1U : 0U, at.what->past.rest()};
    if (is_alike(wanted, words_to_be_[i])) continue;
    words_to_be_[i] = wanted;
    words_changed_ = true;
  }
}

std::uint64_t captured_gate::blocks_of(void const* resident) const noexcept {
  auto const found =
      std::find_if(slots_.begin(), slots_.end(), [&](auto const& slot) { return slot.kernel.resident == resident; });
  return found != slots_.end() ? found->grid.blocks : 0;
}

runtime_counts captured_gate::counts() const {
  std::lock_guard const lock{mutex_};
  return counts_;
}

bool captured_gate::is_over() const {
  // in this order: a launch in flight holds the graph until its workers are enqueued
  return graph_gone_->load(std::memory_order_acquire) && executor_.graph_workers_done();
}

}  // namespace lull::detail
