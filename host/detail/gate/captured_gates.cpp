// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/gate/captured_gates.hpp>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

#include <lull/host/error.hpp>

namespace lull::detail {

captured_gates::captured_gates(executor& executor, std::uint32_t first_index, bool withholds, site_limits limits,
                               std::function<void(std::string_view)> log)
    : executor_(executor),
      first_index_(first_index),
      log_(std::move(log)),
      sites_(limits),
      withheld_(executor, 1),
      lines_(executor, max_gates),
      found_(executor, max_gates),
      pinned_(executor, captured_gate::records + max_copied),
      words_(executor, max_gates * captured_gate::max_sites),
      free_(max_gates) {
  std::iota(free_.rbegin(), free_.rend(), first_index_);
  std::uint32_t const first = withholds ? 1 : 0;
  withheld_.write({&first, 1});
}

void captured_gates::enable(worker_kernel const& kernel, worker_grid const& grid) {
  if (kernel.conducts) return;  // a graph that runs cannot be launched again by its own bubble's replay
  std::lock_guard const lock{mutex_};
  bool const known = std::any_of(types_.begin(), types_.end(),
                                 [&](auto const& each) { return each.kernel.resident == kernel.resident; });
  if (!known && types_.size() < max_types) types_.push_back({kernel, grid});
}

open_result captured_gates::open(std::uint64_t capture, stream_handle stream, site where, runtime_mode mode) {
  std::shared_ptr<captured_gate> const gate = find_or_make(capture, stream, mode);
  return gate != nullptr ? gate->open(stream, where) : open_result{{}, counted::not_captured};
}

/// Returns the gate of a capture and stream; one thread calls it for each.
std::shared_ptr<captured_gate> captured_gates::find_or_make(std::uint64_t capture, stream_handle stream,
                                                            runtime_mode mode) {
  std::unique_lock lock{mutex_};
  auto const known =
      std::find_if(gates_.begin(), gates_.end(), [&](auto const& gate) { return gate->serves(capture, stream); });
  if (known != gates_.end()) return *known;
  std::string why;
  if (mode == runtime_mode::on && types_.empty()) {
    why = "name its task types in runtime_options::tasks";
  } else if (free_.empty()) {
    why = "more graphs are captured than there are gates";
  } else {
    auto const types = mode == runtime_mode::on ? types_ : std::vector<captured_type>{};
    std::uint32_t const index = free_.back();
    free_.pop_back();
    // Under no lock: our copies to the device may wait for what the trainer has enqueued.
    lock.unlock();
    std::shared_ptr<captured_gate> made;
    try {
      gate_line const zero{};
      gate_line* const line = lines_.data() + (index - first_index_);
      executor_.write(line, &zero, sizeof zero);  // word by word: other gates' lines are being copied
      site_words* const words = words_.data() + (index - first_index_) * captured_gate::max_sites;
      made = std::make_shared<captured_gate>(executor_, sites_, index, line, words, withheld(), capture, stream, types);
    } catch (limit_error const& full) {
      why = full.what();
    } catch (...) {
      lock.lock();
      free_.push_back(index);
      throw;
    }
    lock.lock();
    if (made != nullptr) {
      gates_.push_back(made);
      new_.push_back(made);
      return made;
    }
    free_.push_back(index);
  }
  ++counts_[counted::not_captured];
  bool const said = std::exchange(said_why_, true);
  lock.unlock();
  if (!said && log_) log_("a graph is captured without side work: " + why);
  return nullptr;
}

bool captured_gates::close(bubble_id id, stream_handle stream) {
  std::shared_ptr<captured_gate> mine;
  {
    std::lock_guard const lock{mutex_};
    auto const found =
        std::find_if(gates_.begin(), gates_.end(), [&](auto const& gate) { return gate->index() == id.gate; });
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

bool captured_gates::any() const {
  std::lock_guard const lock{mutex_};
  return !gates_.empty();
}

std::vector<std::shared_ptr<captured_gate>> captured_gates::take_new() {
  std::lock_guard const lock{mutex_};
  return std::exchange(new_, {});
}

void captured_gates::take_later(std::shared_ptr<captured_gate> graph) {
  std::lock_guard const lock{mutex_};
  new_.push_back(std::move(graph));
}

/// Returns the number of a stream's gate in reports. Further streams share the last number.
std::uint32_t captured_gates::report_index(stream_handle stream) {
  auto const known = std::find(streams_.begin(), streams_.end(), stream);
  auto const place = static_cast<std::size_t>(known - streams_.begin());
  if (known == streams_.end() && place < max_streams) streams_.push_back(stream);
  return first_index_ + static_cast<std::uint32_t>(std::min(place, max_streams - 1));
}

/// Copies records first and lines after them. So the lines show how far replays were ahead when the records were
/// copied.
bool captured_gates::begin_collecting(copy_lane& lane, bool at_the_end) {
  auto const now = std::chrono::steady_clock::now();
  if (!at_the_end && now - read_ < read_every) return false;
  auto const gates = all();
  if (gates.empty()) return false;
  read_ = now;
  looked_at_.clear();
  copied_.clear();
  std::size_t used = captured_gate::records;  // the zeros
  for (auto const& gate : gates) {
    gate->write_to(lane, pinned_.data());
    auto const which = gate->to_read();
    if (which.count() == 0 || used + which.count() > captured_gate::records + max_copied) continue;
    bubble_record* const to = pinned_.data() + used;
    gate->ring().take(lane, which.from, which.past, to, pinned_.data());
    copied_.push_back({gate, which, to});
    used += which.count();
  }
  std::size_t past = 0;
  for (auto const& gate : gates) {
    looked_at_.emplace_back(gate, gate->is_over());
    past = std::max(past, place_of(*gate) + 1);
  }
  lane.copy_out(found_.data(), lines_.data(), past * sizeof(gate_line));
  return true;
}

void captured_gates::collect(collected_bubbles const& to) {
  for (auto const& [gate, over] : looked_at_) gate->note(found_.data()[place_of(*gate)], over);
  for (copied const& each : copied_) {
    each.gate->take(each.which, each.at, each.gate->blocks_of(to.at_work), report_index(each.gate->stream()), to.into);
    if (auto where = each.gate->take_held_up()) held_up_ = std::move(where);
  }
  ++looks_;
  unread_ = 0;
  for (auto const& [gate, over] : looked_at_) unread_ += gate->to_read().count();
  looked_at_.clear();
  copied_.clear();
}

void captured_gates::forget(captured_gate const& gone) {
  std::lock_guard const lock{mutex_};
  auto const found = std::find_if(gates_.begin(), gates_.end(), [&](auto const& gate) { return gate.get() == &gone; });
  if (found == gates_.end()) return;
  counts_ += gone.counts();
  free_.push_back(gone.index());
  gates_.erase(found);
}

runtime_counts captured_gates::counts() const {
  std::unique_lock lock{mutex_};
  runtime_counts sum = counts_;
  auto const gates = gates_;
  lock.unlock();
  for (auto const& gate : gates) sum += gate->counts();
  return sum;
}

}  // namespace lull::detail
