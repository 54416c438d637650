// SPDX-License-Identifier: Apache-2.0
#include <lull/host/gate.hpp>

#include <algorithm>

namespace lull::detail {

gate::gate(executor& machine, std::uint32_t index, std::uint32_t first_value)
    : machine_(machine), index_(index), value_(first_value), copies_(records) {
  ref_.line = static_cast<gate_line*>(machine_.allocate(sizeof(gate_line)));
  ref_.records = static_cast<bubble_record*>(machine_.allocate(records * sizeof(bubble_record)));
  ref_.record_mask = records - 1;
  gate_line line{};
  line.value = first_value;
  machine_.write(ref_.line, &line, sizeof line);
  for (std::uint64_t i = 0; i < records; ++i) marks_.push_back(machine_.make_mark());
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
  return std::any_of(standing_.begin(), standing_.end(), [](standing const& s) { return s.slot != nullptr; });
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
  for (standing const& stands : standing_) {
    if (stands.slot == nullptr) continue;
    machine_.launch(stands.kernel, stands.slot, &mark);
    now.blocks = now.blocks != 0 ? now.blocks : machine_.blocks_of(stands.kernel);
    ++counts_.launches;
  }
}

bubble_id gate::open(stream_handle stream, site where, runtime_mode mode, launch_time launch) {
  std::lock_guard const lock{mutex_};
  if (open_) {
    ++counts_.nested;
    return {};
  }
  bool const any = std::any_of(standing_.begin(), standing_.end(), [](standing const& s) { return s.slot != nullptr; });
  if (mode == runtime_mode::on && !any) {
    ++counts_.no_job;
    return {};
  }
  if (machine_.capturing(stream)) {
    ++counts_.captured;
    return {};
  }
  site_state& at = find(where);
  if (mode == runtime_mode::on && at.lengths.pass_over()) {
    ++counts_.too_short;
    return {};
  }
  ++bubbles_;
  placed_[bubbles_ % records] = {bubbles_, &at, 0, lease_};
  bubble_mark& mark = mark_of(bubbles_);
  machine_.open_edge(stream, ref_, ++value_, bubbles_, mark);
  open_ = true;
  ++counts_.opened;
  if (launch == launch_time::at_open && mode == runtime_mode::on) launch_all(mark);
  return {index_, bubbles_};
}

void gate::close(bubble_id id, stream_handle stream, launch_time launch) {
  std::lock_guard const lock{mutex_};
  if (!open_ || id.bubble != bubbles_) {
    ++counts_.unmatched;
    return;
  }
  open_ = false;
  bubble_mark& mark = mark_of(bubbles_);
  machine_.close_edge(stream, ref_, ++value_, mark);
  if (launch == launch_time::at_close) launch_all(mark);
}

std::chrono::nanoseconds gate::collect(std::deque<bubble_report>& into) {
  std::uint64_t latest = 0;
  std::uint64_t from = 0;
  {
    std::lock_guard const lock{mutex_};
    latest = open_ ? bubbles_ - 1 : bubbles_;
    from = collected_ + 1;
    // One record of margin: the one behind is zeroed by the next opening edge.
    if (latest >= records && from + records - 2 < latest) {
      counts_.dropped += latest - (records - 2) - from;
      from = latest - (records - 2);
      collected_ = from - 1;
    }
  }
  std::uint64_t measured = from;
  std::vector<std::chrono::nanoseconds> lengths;
  for (; measured <= latest; ++measured) {
    auto const length = machine_.length(mark_of(measured));
    if (!length) break;
    lengths.push_back(*length);
  }
  if (!lengths.empty()) machine_.read(copies_.data(), ref_.records, records * sizeof(bubble_record));
  std::lock_guard const lock{mutex_};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::uint64_t const bubble = from + i;
    placed const& was = placed_[bubble % records];
    bubble_record const& record = copies_[bubble & ref_.record_mask];
    collected_ = bubble;
    if (was.bubble != bubble || record.bubble != bubble) {
      ++counts_.dropped;
      continue;
    }
    was.where->lengths.add(lengths[i]);
    into.push_back({index_, was.where->name, lengths[i], was.lease, was.blocks, record});
  }
  std::chrono::nanoseconds longest{0};
  for (site_state const& known : sites_) longest = std::max(longest, known.lengths.longest());
  return longest;
}

runtime_counts gate::counts() const {
  std::lock_guard const lock{mutex_};
  return counts_;
}

bool gate::passed() const {
  std::lock_guard const lock{mutex_};
  if (bubbles_ == 0) return true;
  bubble_mark& last = mark_of(bubbles_);
  return open_ ? machine_.passed_opening(last) : machine_.length(last).has_value();
}

void gate::note_lease(std::chrono::nanoseconds lease) noexcept {
  std::lock_guard const lock{mutex_};
  lease_ = lease;
}

}  // namespace lull::detail
