// SPDX-License-Identifier: Apache-2.0
#include <lull/host/captured.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace lull::detail {

namespace {

/// What a worker may stay where no room is kept for what a bubble waits for.
constexpr std::uint64_t lease_without_rooms_ns = 200'000;

}  // namespace

captured_gate::captured_gate(executor& machine, std::uint32_t index, std::uint64_t capture, stream_handle stream,
                             std::span<worker_kernel const> kernels)
    : machine_(machine),
      index_(index),
      capture_(capture),
      stream_(stream),
      // release: what the graph's launches did to the gate, to whoever finds it gone
      not_kept_yet_(this, [gone = graph_gone_](void const*) { gone->store(true, std::memory_order_release); }),
      copies_(records) {
  ref_.line = static_cast<gate_line*>(machine_.allocate(sizeof(gate_line)));
  ref_.records = static_cast<bubble_record*>(machine_.allocate(records * sizeof(bubble_record)));
  ref_.record_mask = records - 1;
  skip_ = static_cast<std::uint32_t*>(machine_.allocate(most_sites * sizeof *skip_));
  if (!kernels.empty()) {
    auto* const slots = static_cast<slot_line*>(machine_.allocate(kernels.size() * sizeof(slot_line)));
    for (std::size_t k = 0; k < kernels.size(); ++k) slots_.push_back({slots + k, kernels[k]});
  }
}

captured_gate::~captured_gate() {
  if (!slots_.empty()) machine_.release(slots_.front().slot);  // one allocation holds all of them
  machine_.release(skip_);
  machine_.release(ref_.records);
  machine_.release(ref_.line);
}

std::uint32_t captured_gate::find(site where) {
  auto const known = std::find_if(sites_.begin(), sites_.end(), [&](site_state const& s) { return s.name == where.name; });
  if (known != sites_.end()) return static_cast<std::uint32_t>(known - sites_.begin());
  sites_.push_back({std::string{where.name}, {}, false});
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
    site.skip = at < most_sites ? skip_ + at : nullptr;
    if (place.owned_processors == place.processors) site.most_lease_ns = lease_without_rooms_ns;
    workers.push_back({each.kernel, site});
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

std::chrono::nanoseconds captured_gate::collect(std::deque<bubble_report>& into) {
  gate_line line{};
  machine_.read(&line, ref_.line, sizeof line);
  std::lock_guard const lock{mutex_};
  // The last one may be open still, or its workers on their way out: it is read when another has come, or none for a round.
  bool const idle = line.bubbles == waited_ && !lull::is_open(line.value);
  waited_ = line.bubbles;
  std::uint64_t const last = idle || line.bubbles == 0 ? line.bubbles : line.bubbles - 1;
  if (last > read_) take(last, into);
  std::chrono::nanoseconds longest{0};
  for (site_state const& known : sites_) longest = std::max(longest, known.past.longest());
  return longest;
}

/// Bubbles (read_, last]. Their records are zeroed for those that come half a ring later at the earliest; where replays were
/// faster, records of two bubbles may be mixed, and all are dropped.
void captured_gate::take(std::uint64_t last, std::deque<bubble_report>& into) {
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
    if (closed) learn(record, into);
  }
  std::uint64_t const first = (read_ + 1) & ref_.record_mask;
  std::uint64_t const count = last - read_;
  std::uint64_t const to_the_end = std::min(count, records - first);
  machine_.write(ref_.records + first, zero.data(), to_the_end * sizeof(bubble_record));
  machine_.write(ref_.records, zero.data(), (count - to_the_end) * sizeof(bubble_record));
  read_ = last;
}

/// What a replayed bubble says of its site, and whether that is worth a worker.
void captured_gate::learn(bubble_record const& record, std::deque<bubble_report>& into) {
  site_state& at = sites_[record.site];
  std::chrono::nanoseconds const length{record.closed_ns > record.opened_ns ? record.closed_ns - record.opened_ns : 0};
  at.past.add(harvest_seen{.length = length, .chunks = record.chunks, .handed_back = record.handed_back, .at_close = false});
  bool const skip = at.past.judge() != history::verdict::harvest;
  if (skip != at.skipped && record.site < most_sites) {
    at.skipped = skip;
    std::uint32_t const word = skip ? 1 : 0;
    machine_.write(skip_ + record.site, &word, sizeof word);
  }
  if (skip) ++(length < history::worth ? counts_.too_short : counts_.fruitless);
  into.push_back({.gate = index_,
                  .site = at.name,
                  .length = length,
                  .opened_ns = static_cast<std::int64_t>(record.opened_ns),
                  .host_ahead = true,  // a replay asks no host
                  .lease = {},
                  .blocks = record.blocks,
                  .record = record});
}

runtime_counts captured_gate::counts() const {
  std::lock_guard const lock{mutex_};
  return counts_;
}

bool captured_gate::is_over() {
  // in this order: a launch that is in flight holds the graph until its workers are enqueued
  return graph_gone_->load(std::memory_order_acquire) && machine_.workers_done();
}

void captured_gates::enable(worker_kernel const& kernel) {
  std::lock_guard const lock{mutex_};
  bool const known = std::any_of(kernels_.begin(), kernels_.end(), [&](auto const& each) { return each.resident == kernel.resident; });
  if (!known && kernels_.size() < most_kernels) kernels_.push_back(kernel);
}

bubble_id captured_gates::open(std::uint64_t capture, stream_handle stream, site where, runtime_mode mode) {
  std::shared_ptr<captured_gate> const gate = find_or_make(capture, stream, mode);
  return gate != nullptr ? gate->open(stream, where) : bubble_id{};
}

std::shared_ptr<captured_gate> captured_gates::find_or_make(std::uint64_t capture, stream_handle stream, runtime_mode mode) {
  std::lock_guard const lock{mutex_};
  auto const known = std::find_if(gates_.begin(), gates_.end(), [&](auto const& gate) { return gate->serves(capture, stream); });
  if (known != gates_.end()) return *known;
  bool const nothing_to_run = mode == runtime_mode::on && kernels_.empty();
  if (nothing_to_run || gates_.size() >= most_gates) {
    ++ignored_;
    if (!std::exchange(said_too_many_, true) && log_) {
      log_(nothing_to_run ? "a graph is captured without side work: name its task types in runtime_options::tasks"
                          : "more captured graphs than gates: the others are not harvested");
    }
    return nullptr;
  }
  std::span<worker_kernel const> const kernels = mode == runtime_mode::on ? std::span<worker_kernel const>{kernels_} : std::span<worker_kernel const>{};
  gates_.push_back(std::make_shared<captured_gate>(machine_, next_index_++, capture, stream, kernels));
  return gates_.back();
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
