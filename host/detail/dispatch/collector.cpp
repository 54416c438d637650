// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/dispatch/collector.hpp>

#include <algorithm>
#include <utility>

#include <lull/host/error.hpp>

namespace lull::detail {

collector::collector(std::shared_ptr<executor> executor, std::vector<bubble_source*> sources, device_clock& clock,
                     collector_options options, log_queue& log)
    : executor_(std::move(executor)),
      sources_(std::move(sources)),
      clock_(clock),
      options_(options),
      log_(log),
      lane_(executor_->make_copy_lane()),
      summary_({.cpu_time = executor_->kind() == executor_kind::threads, .harvest = {.worth = options.min_bubble}}) {
  tell_reserved({});
}

/// Reads the free memory, which differs from site to site with the trainer's use.
void collector::read_free() {
  auto const now = std::chrono::steady_clock::now();
  if (!options_.tells_free_memory || now - free_read_ < read_free_every) return;
  free_read_ = now;
  try {
    free_ = executor_->device_free_bytes();
  } catch (device_error const&) {  // the call that needs the device will report it
  }
  if (free_ == any_bytes) free_.reset();
}

bool collector::collect(void const* at_work) {
  read_free();
  if (!lane_->done()) return false;
  std::deque<bubble_report> found;
  for (bubble_source* const each : copying_) each->collect({found, clock_, at_work});
  copying_.clear();
  try {
    reserve_more();  // before reports of these bubbles can be read
  } catch (...) {
    keep(std::move(found));
    throw;
  }
  keep(std::move(found));
  return true;
}

void collector::begin(bool at_the_end) {
  for (bubble_source* const each : sources_) {
    if (each->begin_collecting(*lane_, at_the_end)) copying_.push_back(each);
  }
}

void collector::keep(std::deque<bubble_report> found) {
  if (found.empty()) return;
  found.back().free_bytes = std::exchange(free_, std::nullopt);
  std::lock_guard const lock{mutex_};
  for (bubble_report& each : found) {
    summary_.add(each);
    bubbles_.push_back(std::move(each));
  }
  while (bubbles_.size() > options_.max_bubbles) bubbles_.pop_front();
}

std::chrono::nanoseconds collector::longest() const {
  std::chrono::nanoseconds found{0};
  for (bubble_source const* const each : sources_) found = std::max(found, each->longest());
  return found;
}

/// Makes workers keep off more SMs where kernels of the trainer have waited for them.
void collector::reserve_more() {
  std::optional<std::string> where;
  for (bubble_source* const each : sources_) {
    if (auto at = each->take_held_up()) where = std::move(at);
  }
  if (!where) return;
  bool const more = executor_->reserve_group();
  if (!more && std::exchange(said_no_more_, true)) return;
  if (more) {
    {
      std::lock_guard const lock{mutex_};
      ++groups_added_;
    }
    tell_reserved(*where);
  }
  std::string const outcome =
      more ? "workers keep off one more group of SMs from now on" : "there is no further group of SMs to keep off";
  log_.add("in the bubble '" + *where + "' a kernel of training waited until side work left by its lease: " + outcome);
}

void collector::tell_reserved(std::string const& last_added_at) {
  placement const place = executor_->place();
  std::lock_guard const lock{mutex_};
  summary_.tell({.processors = place.processors,
                 .for_workers = place.owned_processors,
                 .groups_added = groups_added_,
                 .last_added_at = last_added_at});
}

std::vector<bubble_report> collector::take_bubbles() {
  std::deque<bubble_report> taken;
  {
    std::lock_guard const lock{mutex_};
    taken.swap(bubbles_);
  }
  return {std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end())};
}

bubble_summary collector::summary() const {
  std::lock_guard const lock{mutex_};
  return summary_;
}

std::uint64_t collector::collected() const {
  std::lock_guard const lock{mutex_};
  return summary_.seen();
}

side_totals collector::worked() const {
  std::lock_guard const lock{mutex_};
  return summary_.side_work();
}

std::uint64_t collector::groups_added() const {
  std::lock_guard const lock{mutex_};
  return groups_added_;
}

}  // namespace lull::detail
