// SPDX-License-Identifier: Apache-2.0
#include <lull/host/captured.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <lull/host/error.hpp>

namespace lull::detail {

namespace {

/// What a worker may stay where no room is kept for what a bubble waits for.
constexpr std::uint64_t lease_without_rooms_ns = 200'000;

}  // namespace

captured_gate::captured_gate(executor& machine, std::uint32_t index, std::uint64_t capture, stream_handle stream,
                             std::span<captured_type const> types)
    : machine_(machine),
      index_(index),
      capture_(capture),
      stream_(stream),
      line_(machine, 1),
      ring_(machine, records),
      skip_(machine, most_sites),
      slot_lines_(machine, std::max<std::size_t>(types.size(), 1)),
      // release: what the graph's launches did to the gate, to whoever finds it gone
      not_kept_yet_(this, [gone = graph_gone_](void const*) { gone->store(true, std::memory_order_release); }),
      copies_(records) {
  ref_ = {line_.data(), ring_.data(), records - 1};
  for (std::size_t t = 0; t < types.size(); ++t) slots_.push_back({slot_lines_.data() + t, types[t].kernel, types[t].grid});
}

std::uint32_t captured_gate::find(site where) {
  auto const known = std::find_if(sites_.begin(), sites_.end(), [&](site_state const& s) { return s.name == where.name; });
  if (known != sites_.end()) return static_cast<std::uint32_t>(known - sites_.begin());
  sites_.push_back({std::string{where.name}, {}, false, false});
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

bubble_id captured_gate::open(stream_handle stream, site where) {
  std::lock_guard const lock{mutex_};
  std::uint32_t const at = find(where);
  if (open_) {
    if (at != open_site_) {
      ++counts_.nested;
      return {};
    }
    ++counts_.abandoned;
    close_now(stream);
  }
  placement const place = machine_.place();
  std::vector<captured_worker> workers;
  for (captured_slot const& each : slots_) {
    worker_site site;
    site.slot = each.slot;
    site.gate = ref_;
    site.skip = at < most_sites ? skip_.data() + at : nullptr;
    if (place.owned_processors == place.processors) site.most_lease_ns = lease_without_rooms_ns;
    workers.push_back({each.kernel, each.grid, site});
  }
  opening_ = machine_.capture_open(stream, ref_, value_ + 1, workers);
  ++value_;
  ++bubbles_;
  open_ = true;
  open_site_ = at;
  ++counts_.captured;
  if (not_kept_yet_ != nullptr) machine_.capture_keep(stream, std::exchange(not_kept_yet_, nullptr));
  return {index_, bubbles_};
}

void captured_gate::close(bubble_id id, stream_handle stream) {
  std::lock_guard const lock{mutex_};
  if (!open_ || id.bubble != bubbles_ || machine_.capture_of(stream) != capture_) {
    ++counts_.unmatched;
    return;
  }
  close_now(stream);
}

void captured_gate::close_now(stream_handle stream) {
  machine_.capture_close(stream, ref_, value_ + 1, open_site_, opening_);
  ++value_;
  open_ = false;
}

std::chrono::nanoseconds captured_gate::collect(std::deque<bubble_report>& into, void const* at_work, bool over) {
  gate_line line{};
  machine_.read(&line, ref_.line, sizeof line);
  std::lock_guard const lock{mutex_};
  // The last one may be open still, or its workers on their way out: it is read when another has come, or none for a round.
  bool const idle = over || (line.bubbles == waited_ && !lull::is_open(line.value));
  waited_ = line.bubbles;
  std::uint64_t const last = idle || line.bubbles == 0 ? line.bubbles : line.bubbles - 1;
  if (last > read_) {
    take(last, at_work, into);
    decide();
  }
  std::chrono::nanoseconds longest{0};
  for (site_state const& known : sites_) longest = std::max(longest, known.past.longest());
  return longest;
}

/// Bubbles (read_, last]. Their records are zeroed for those that come half a ring later at the earliest; where replays were
/// faster, records of two bubbles may be mixed, and all are dropped.
void captured_gate::take(std::uint64_t last, void const* at_work, std::deque<bubble_report>& into) {
  auto const working = std::find_if(slots_.begin(), slots_.end(), [&](auto const& slot) { return slot.kernel.resident == at_work; });
  std::uint64_t const blocks = working != slots_.end() ? working->grid.blocks : 0;
  static constexpr std::array<bubble_record, records> zero{};
  machine_.read(copies_.data(), ref_.records, records * sizeof(bubble_record));
  gate_line now{};
  machine_.read(&now, ref_.line, sizeof now);
  if (now.bubbles - read_ >= records / 2) {
    machine_.write(ref_.records, zero.data(), records * sizeof(bubble_record));
    machine_.read(&now, ref_.line, sizeof now);
    counts_.replayed += now.bubbles - read_;
    counts_.dropped += now.bubbles - read_;
    read_ = now.bubbles;
    return;
  }
  for (std::uint64_t bubble = read_ + 1; bubble <= last; ++bubble) {
    bubble_record const& record = copies_[bubble & ref_.record_mask];
    bool const closed = record.bubble == static_cast<std::uint32_t>(bubble) && record.site < sites_.size();
    ++(closed ? counts_.replayed : counts_.dropped);
    if (closed) learn(record, blocks, into);
  }
  std::uint64_t const first = (read_ + 1) & ref_.record_mask;
  std::uint64_t const count = last - read_;
  std::uint64_t const to_the_end = std::min(count, records - first);
  machine_.write(ref_.records + first, zero.data(), to_the_end * sizeof(bubble_record));
  machine_.write(ref_.records, zero.data(), (count - to_the_end) * sizeof(bubble_record));
  read_ = last;
}

/// What a replayed bubble says of its site. One that was skipped says only how long it was.
void captured_gate::learn(bubble_record const& record, std::uint64_t blocks, std::deque<bubble_report>& into) {
  site_state& at = sites_[record.site];
  at.seen = true;
  std::chrono::nanoseconds const length{record.closed_ns > record.opened_ns ? record.closed_ns - record.opened_ns : 0};
  if (at.skipped) {
    ++(length < history::worth ? counts_.too_short : counts_.fruitless);
    at.past.add_length(length);
  } else {
    at.past.add(harvest_seen{.length = length, .chunks = record.chunks, .handed_back = record.handed_back, .at_close = false});
  }
  into.push_back({.gate = index_,
                  .site = at.name,
                  .length = length,
                  .opened_ns = static_cast<std::int64_t>(record.opened_ns),
                  .host_ahead = true,  // a replay asks no host
                  .lease = {},
                  .blocks = record.blocks != 0 ? blocks : 0,
                  .record = record});
}

/// Once a round: which sites' workers leave at once from now on.
void captured_gate::decide() {
  for (std::size_t i = 0; i < std::min(sites_.size(), most_sites); ++i) {
    site_state& at = sites_[i];
    if (!std::exchange(at.seen, false)) continue;
    bool const skip = at.past.judge() != history::verdict::harvest;
    if (skip == at.skipped) continue;
    at.skipped = skip;
    std::uint32_t const word = skip ? 1 : 0;
    machine_.write(skip_.data() + i, &word, sizeof word);
  }
}

runtime_counts captured_gate::counts() const {
  std::lock_guard const lock{mutex_};
  return counts_;
}

bool captured_gate::is_over() {
  // in this order: a launch that is in flight holds the graph until its workers are enqueued
  return graph_gone_->load(std::memory_order_acquire) && machine_.graph_workers_done();
}

void captured_gates::enable(worker_kernel const& kernel, worker_grid const& grid) {
  std::lock_guard const lock{mutex_};
  bool const known = std::any_of(types_.begin(), types_.end(), [&](auto const& each) { return each.kernel.resident == kernel.resident; });
  if (!known && types_.size() < most_types) types_.push_back({kernel, grid});
}

bubble_id captured_gates::open(std::uint64_t capture, stream_handle stream, site where, runtime_mode mode) {
  std::shared_ptr<captured_gate> const gate = find_or_make(capture, stream, mode);
  return gate != nullptr ? gate->open(stream, where) : bubble_id{};
}

std::shared_ptr<captured_gate> captured_gates::find_or_make(std::uint64_t capture, stream_handle stream, runtime_mode mode) {
  std::unique_lock lock{mutex_};
  auto const known = std::find_if(gates_.begin(), gates_.end(), [&](auto const& gate) { return gate->serves(capture, stream); });
  if (known != gates_.end()) return *known;
  std::string why;
  if (mode == runtime_mode::on && types_.empty()) {
    why = "name its task types in runtime_options::tasks";
  } else if (gates_.size() >= most_gates) {
    why = "there are more captured graphs than gates";
  } else {
    std::span<captured_type const> types{types_};
    if (mode != runtime_mode::on) types = {};
    try {
      gates_.push_back(std::make_shared<captured_gate>(machine_, next_index_, capture, stream, types));
      ++next_index_;
      return gates_.back();
    } catch (limit_error const& full) {
      why = full.what();
    }
  }
  ++ignored_;
  bool const said = std::exchange(said_why_, true);
  lock.unlock();
  if (!said && log_) log_("a graph is captured without side work: " + why);
  return nullptr;
}

bool captured_gates::close(bubble_id id, stream_handle stream) {
  std::shared_ptr<captured_gate> mine;
  {
    std::lock_guard const lock{mutex_};
    auto const found = std::find_if(gates_.begin(), gates_.end(), [&](auto const& gate) { return gate->index() == id.gate; });
    if (found == gates_.end()) return false;
    mine = *found;
  }
  mine->close(id, stream);
  return true;
}

std::vector<std::shared_ptr<captured_gate>> captured_gates::all() const {
  std::lock_guard const lock{mutex_};
  return gates_;
}

void captured_gates::forget(captured_gate const& gone) {
  std::lock_guard const lock{mutex_};
  auto const found = std::find_if(gates_.begin(), gates_.end(), [&](auto const& gate) { return gate.get() == &gone; });
  if (found == gates_.end()) return;
  of_gone_ += gone.counts();
  gates_.erase(found);
}

runtime_counts captured_gates::counts() const {
  std::lock_guard const lock{mutex_};
  runtime_counts sum = of_gone_;
  for (auto const& gate : gates_) sum += gate->counts();
  sum.ungraphed += ignored_;
  return sum;
}

}  // namespace lull::detail
