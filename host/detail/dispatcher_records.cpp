// SPDX-License-Identifier: Apache-2.0
// What the dispatcher collects of bubbles that are over.
#include <lull/host/detail/dispatcher.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <lull/host/error.hpp>

namespace lull::detail {

/// Returns the longest recent bubble.
std::chrono::nanoseconds dispatcher::collect_bubbles(bool at_the_end) {
  std::size_t const known = bubbles_.size();
  if (places_[0].who != nullptr) in_graphs_ = places_[0].who->kernel().resident;
  copy_bubbles(at_the_end);
  if (bubbles_.size() > known) bubbles_.back().free_bytes = std::exchange(free_, std::nullopt);
  for (std::size_t i = known; i < bubbles_.size(); ++i) summary_.add(bubbles_[i]);
  while (bubbles_.size() > max_bubbles) bubbles_.pop_front();
  auto longest = captured_.longest();
  for (auto const& each : gates_) longest = std::max(longest, each->longest());
  return longest;
}

/// What the trainer's memory leaves free differs from site to site. Not under the lock: a driver may take its time.
void dispatcher::read_free() {
  auto const now = std::chrono::steady_clock::now();
  if (!tells_free_ || now - free_read_ < read_free_every) return;
  free_read_ = now;
  try {
    free_ = machine_->device_free_bytes();
  } catch (device_error const&) {  // what needs the device will say so
  }
  if (free_ == any_bytes) free_.reset();
}

/// Copies are enqueued in one round and taken in another: on the device they may stand after what the trainer has
/// enqueued, and the dispatcher has more to do than to wait for that.
void dispatcher::copy_bubbles(bool at_the_end) {
  if (!lane_->done()) return;
  for (gate* const each : copying_) each->collect(bubbles_, clock_);
  copying_.clear();
  if (std::exchange(copying_captures_, false)) {
    captured_.collect(bubbles_, in_graphs_);
    follow_captures();
  }
  for (auto const& each : gates_) {
    if (each->begin_collecting(*lane_, at_the_end)) copying_.push_back(each.get());
  }
  auto const now = std::chrono::steady_clock::now();
  if (at_the_end || now - captures_read_ >= read_captures_every) {
    captures_read_ = now;
    copying_captures_ = captured_.begin_collecting(*lane_);
  }
}

/// Where kernels of the trainer have waited for workers, they keep off more.
void dispatcher::reserve_more(std::unique_lock<std::mutex>& lock) {
  auto where = captured_.take_held_up();
  for (auto const& each : gates_) {
    if (auto at = each->take_held_up()) where = std::move(at);
  }
  if (!where) return;
  bool const more = machine_->reserve_group();
  if (!more && std::exchange(said_no_more_, true)) return;
  if (more) tell_reserved(*where, ++groups_added_);
  std::string const outcome =
      more ? "workers keep off one more group of SMs from now on" : "there is no further group of SMs to keep off";
  say("in the bubble '" + *where + "' a kernel of training waited until side work left by its lease: " + outcome, lock);
}

void dispatcher::tell_reserved(std::string const& last_added_at, std::uint64_t groups_added) {
  placement const place = machine_->place();
  summary_.tell({.processors = place.processors,
                 .for_workers = place.owned_processors,
                 .groups_added = groups_added,
                 .last_added_at = last_added_at});
}

void dispatcher::collect() {
  std::lock_guard const lock{mutex_};
  collect_bubbles(true);
}

std::vector<bubble_report> dispatcher::take_bubbles() {
  std::lock_guard const lock{mutex_};
  std::vector<bubble_report> taken{bubbles_.begin(), bubbles_.end()};
  bubbles_.clear();
  return taken;
}

bubble_summary dispatcher::summary() const {
  std::lock_guard const lock{mutex_};
  return summary_;
}

std::uint64_t dispatcher::groups_added() const {
  std::lock_guard const lock{mutex_};
  return groups_added_;
}

std::uint64_t dispatcher::collected() const {
  std::lock_guard const lock{mutex_};
  return summary_.seen();
}

}  // namespace lull::detail
