// SPDX-License-Identifier: Apache-2.0
#include <lull/host/gate.hpp>

#include <algorithm>
#include <utility>

#include <lull/host/ranges.hpp>

namespace lull::detail {

namespace {

/// A bubble's length as its workers saw it: from the opening to the first sight of the close.
std::optional<std::chrono::nanoseconds> seen(bubble_record const& record) {
  if (record.not_saw_ns == 0) return std::nullopt;
  return std::chrono::nanoseconds{~record.not_saw_ns - record.opened_ns};
}

harvest_seen seen_in(bubble_record const& record, std::chrono::nanoseconds lease, bool at_close) {
  // Where all blocks left early the bubble may have been longer than they know, by as much as the lease.
  std::chrono::nanoseconds const at_least = record.lease_blocks != 0 ? lease : std::chrono::nanoseconds{0};
  std::uint64_t const start_ns = record.blocks != 0 ? record.in_ns / record.blocks : 0;
  return {.length = seen(record).value_or(at_least),
          .start = std::chrono::nanoseconds{static_cast<std::int64_t>(start_ns)},
          .working = record.blocks,
          .late = record.late_blocks,
          .chunks = record.chunks,
          .handed_back = record.handed_back,
          .at_close = at_close};
}

/// Adds what another worker's blocks did in the same bubble.
void add_workers(bubble_record& sum, bubble_record const& more) {
  for (auto const latest : {&bubble_record::last_in_ns, &bubble_record::not_saw_ns, &bubble_record::last_out_ns}) {
    sum.*latest = std::max(sum.*latest, more.*latest);
  }
  for (auto const total : {&bubble_record::in_ns, &bubble_record::wait_ns, &bubble_record::stay_ns, &bubble_record::early_ns,
                           &bubble_record::chunks, &bubble_record::items}) {
    sum.*total += more.*total;
  }
  for (auto const count : {&bubble_record::blocks, &bubble_record::lease_blocks, &bubble_record::held_blocks, &bubble_record::idle_blocks,
                           &bubble_record::starved_blocks, &bubble_record::handed_back, &bubble_record::late_blocks, &bubble_record::refused}) {
    sum.*count += more.*count;
  }
}

/// Workers launched at close tell by their start whether the host was ahead.
std::optional<bool> started_in_time(bubble_record const& record, bool at_close) {
  if (!at_close) return std::nullopt;
  if (record.blocks == 0) return record.late_blocks != 0 ? std::optional{false} : std::nullopt;
  return std::chrono::nanoseconds{record.in_ns / record.blocks} <= history::late_start;
}

}  // namespace

gate::gate(executor& machine, std::uint32_t index, std::uint32_t first_value)
    : machine_(machine), index_(index), value_(first_value) {
  ref_.line = static_cast<gate_line*>(machine_.allocate(sizeof(gate_line)));
  ref_.records = static_cast<bubble_record*>(machine_.allocate(places * records * sizeof(bubble_record)));
  ref_.record_mask = records - 1;
  gate_line line{};
  line.value = first_value;
  machine_.write(ref_.line, &line, sizeof line);
  for (std::uint64_t i = 0; i < records; ++i) marks_.push_back(machine_.make_mark());
  for (auto& each : copies_) each.resize(records);
}

gate::~gate() {
  machine_.release(ref_.records);
  machine_.release(ref_.line);
}

bool gate::serves(stream_handle stream) noexcept {
  std::lock_guard const lock{mutex_};
  if (!taken_) {
    taken_ = true;
    stream_ = stream;
  }
  return stream_ == stream;
}

void gate::stand(int place, standing what) noexcept {
  std::lock_guard const lock{mutex_};
  standing_[static_cast<std::size_t>(place)] = what;
}

bool gate::ready() const noexcept {
  std::lock_guard const lock{mutex_};
  return any_stands();
}

bool gate::any_stands() const noexcept {
  return std::any_of(standing_.begin(), standing_.end(), [](standing const& s) { return s.site.slot != nullptr; });
}

gate::site_state& gate::find(site where) {
  for (site_state& known : sites_) {
    if (known.name == where.name) return known;
  }
  sites_.push_back({std::string{where.name}, {}});
  return sites_.back();
}

void gate::launch_all(bubble_mark& mark) {
  placed& now = placed_[bubbles_ % records];
  std::size_t worker = 0;
  for (standing const& stands : standing_) {
    if (stands.site.slot == nullptr) continue;
    worker_site with = stands.site;
    with.gate.records = ring(worker);
    if (now.at_open) with.most_lease_ns = static_cast<std::uint64_t>(now.lease.count());
    machine_.launch(stands.kernel, with, &mark);
    now.blocks[worker++] = machine_.blocks_of(stands.kernel);
    ++counts_.launches;
  }
}

bubble_id gate::open(stream_handle stream, site where, runtime_mode mode, launch_time launch) {
  std::lock_guard const lock{mutex_};
  if (open_) {
    placed const& before = placed_[bubbles_ % records];
    bool const abandoned = before.where->name == where.name || std::chrono::steady_clock::now() - before.opened > lease_;
    if (!abandoned) {
      ++counts_.nested;
      return {};
    }
    ++counts_.abandoned;
    close_now(stream, landing{});
  }
  if (mode == runtime_mode::on && !any_stands()) {
    ++counts_.no_job;
    return {};
  }
  if (bubbles_ - collected_ >= records) {  // the keeper is behind: nothing of ours may be overwritten
    ++counts_.dropped;
    return {};
  }
  site_state& at = find(where);
  if (mode == runtime_mode::on) {
    switch (at.past.judge()) {
      case history::verdict::harvest: break;
      case history::verdict::too_short: ++counts_.too_short; return {};
      case history::verdict::fruitless: ++counts_.fruitless; return {};
    }
  }
  std::uint64_t const bubble = bubbles_ + 1;
  bool const timed = mode == runtime_mode::observe;
  bool const at_open = !timed && (launch == launch_time::at_open || at.past.better_at_open());
  bubble_mark& mark = mark_of(bubble);
  machine_.open_edge(stream, ref_, value_ + 1, bubble, mark, timed);
  // Only now: an edge that could not be enqueued never was.
  ++value_;
  bubbles_ = bubble;
  placed_[bubble % records] = {.bubble = bubble,
                               .where = &at,
                               .blocks = {},
                               .timed = timed,
                               .at_open = at_open,
                               .host_ahead = {},
                               .lease = at_open ? std::min(lease_, at.past.lease_of_open()) : lease_,
                               .opened = std::chrono::steady_clock::now(),
                               .range = begin_range(at.name.c_str())};
  open_ = true;
  ++counts_.opened;
  if (at_open) launch_all(mark);
  return {index_, bubbles_};
}

void gate::close(bubble_id id, stream_handle stream, std::optional<landing> lands) {
  std::lock_guard const lock{mutex_};
  // An edge that went into a graph would close later bubbles and not this one.
  if (!open_ || id.bubble != bubbles_ || machine_.capture_of(stream)) {
    ++counts_.unmatched;
    return;
  }
  bubble_mark& mark = mark_of(bubbles_);
  placed& now = placed_[bubbles_ % records];
  if (now.timed) now.host_ahead = !machine_.opened(mark);
  landing const how = now.timed ? landing{} : lands.value_or(landings_.choose(machine_.launch_gap()));
  close_now(stream, how);
  if (now.timed) return;
  if (now.at_open) {
    now.where->past.add_host_time(std::chrono::steady_clock::now() - now.opened);
  } else {
    launch_all(mark);
  }
  if (how.joins) machine_.join(stream, mark);
}

void gate::close_now(stream_handle stream, landing how) {
  placed const& now = placed_[bubbles_ % records];
  machine_.close_edge(stream, ref_, value_ + 1, mark_of(bubbles_), now.timed, how.longer);
  ++value_;
  open_ = false;
  end_range(now.range);
}

std::chrono::nanoseconds gate::collect(std::deque<bubble_report>& into) {
  std::uint64_t latest = 0;
  std::uint64_t from = 0;
  {
    std::lock_guard const lock{mutex_};
    latest = open_ ? bubbles_ - 1 : bubbles_;
    from = collected_ + 1;
  }
  // A record is read when its workers are surely out.
  std::uint64_t past = from;
  while (past <= latest && is_over(past)) ++past;
  if (past != from) {
    for (std::size_t worker = 0; worker < places; ++worker) take_records(worker, from, past);
  }
  std::lock_guard const lock{mutex_};
  for (std::uint64_t bubble = from; bubble < past; ++bubble) {
    placed const& was = placed_[bubble % records];
    bubble_report one = told(bubble);
    bubble_record const& record = one.record;
    auto const length = was.timed ? was.length : seen(record);
    collected_ = bubble;
    if (length && !was.timed) landings_.add(std::chrono::nanoseconds{record.last_out_ns - ~record.not_saw_ns});
    if (was.timed) {
      if (length) was.where->past.add_length(*length);
    } else {
      was.where->past.add(seen_in(record, was.lease, !was.at_open));
    }
    one.length = length.value_or(std::chrono::nanoseconds{0});
    into.push_back(std::move(one));
  }
  std::chrono::nanoseconds longest{0};
  for (site_state const& known : sites_) longest = std::max(longest, known.past.longest());
  return longest;
}

/// Its workers are out, and it was opened, which stamps the record: the stream may not have come yet to a bubble that has no worker,
/// since its job went before the close. Of an observed bubble its end is reached: the length is asked for once, and kept.
bool gate::is_over(std::uint64_t bubble) {
  bubble_mark& mark = mark_of(bubble);
  placed& was = placed_[bubble % records];
  bool const timed = [&] {
    std::lock_guard const lock{mutex_};
    return was.timed;
  }();
  if (!timed) return machine_.workers_left(mark) && machine_.opened(mark);
  auto const length = machine_.length(mark);
  std::lock_guard const lock{mutex_};
  was.length = length;
  return length.has_value();
}

/// A bubble whose records are copied, but for its length.
bubble_report gate::told(std::uint64_t bubble) const {
  placed const& was = placed_[bubble % records];
  bubble_record const& successor = copies_[1][bubble & ref_.record_mask];
  bubble_record record = copies_[0][bubble & ref_.record_mask];
  add_workers(record, successor);
  return {.gate = index_,
          .site = was.where->name,
          .opened_ns = static_cast<std::int64_t>(record.opened_ns),
          .host_ahead = was.timed ? was.host_ahead : started_in_time(record, !was.at_open),
          .lease = was.lease,
          .blocks = was.blocks[0],
          .successor_blocks = was.blocks[1],
          .record = record,
          .successor = successor};
}

/// Copies a worker's records of bubbles [from, past) and zeroes their places for later ones.
void gate::take_records(std::size_t worker, std::uint64_t from, std::uint64_t past) {
  static constexpr std::array<bubble_record, records> zero{};
  for (std::uint64_t bubble = from; bubble < past;) {
    std::uint64_t const first = bubble & ref_.record_mask;
    std::uint64_t const count = std::min(past - bubble, records - first);  // to the end of the ring, then from its start
    machine_.read(copies_[worker].data() + first, ring(worker) + first, count * sizeof(bubble_record));
    machine_.write(ring(worker) + first, zero.data(), count * sizeof(bubble_record));
    bubble += count;
  }
}

runtime_counts gate::counts() const {
  std::lock_guard const lock{mutex_};
  return counts_;
}

bool gate::passed() const {
  std::uint32_t const last = [&] {
    std::lock_guard const lock{mutex_};
    return value_;
  }();
  return machine_.passed(ref_, last);
}

void gate::note_lease(std::chrono::nanoseconds lease) noexcept {
  std::lock_guard const lock{mutex_};
  lease_ = lease;
}

}  // namespace lull::detail
