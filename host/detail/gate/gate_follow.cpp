// SPDX-License-Identifier: Apache-2.0
// A gate whose edges the trainer of another process enqueues.
#include <lull/host/detail/gate/gate.hpp>

#include <utility>

namespace lull::detail {

bool gate::follow(attach::announced_bubble const& told, std::string_view where, bool may_work) {
  {
    std::lock_guard const edges{edges_};
    std::lock_guard const lock{mutex_};
    if (told.bubble <= bubbles_) return true;
    if (open_) note_close(told.called);  // at the latest then
    bool const misses_some = told.bubble != bubbles_ + 1;
    if (bubbles_ - collected_ >= records || (misses_some && collected_ != bubbles_)) return false;
    if (misses_some) begin_at(told.bubble);
  }
  // A late block may have added to the record of a bubble that was not followed.
  if (known_from_ == told.bubble) ring_.fill_zero();
  std::lock_guard const edges{edges_};
  std::lock_guard const lock{mutex_};
  last_used_ = std::chrono::steady_clock::now();
  std::shared_ptr<site_state> const at = sites_.find(where);
  at->past.begin_bubble();
  at->inside.begin_bubble();
  auto const why_not = [&]() -> std::optional<counted> {
    if (!any_stands()) return counted::no_job;
    return at->past.judge() == history::verdict::handed_back ? std::optional{counted::all_handed_back} : std::nullopt;
  }();
  bool const works = may_work && !why_not;
  if (may_work) ++counts_[why_not.value_or(counted::opened)];
  placed_of(told.bubble) = {.bubble = told.bubble,
                            .where = at,
                            .may_be_entered = works && at->inside.allowed(),
                            .at_open = works && at->past.better_at_open(),
                            .halved = told.halved,
                            .is_anothers = !works,
                            .host_ahead = {},
                            .length = {},
                            .lease = lease_,
                            .opened = told.called,
                            .entered = told.called};
  value_ = told.value;
  bubbles_ = told.bubble;
  open_ = true;
  return true;
}

bool gate::follow_close(std::uint64_t bubble, std::chrono::steady_clock::time_point left) {
  std::lock_guard const edges{edges_};
  std::lock_guard const lock{mutex_};
  if (!open_ || bubble != bubbles_) return false;
  note_close(left);
  return true;
}

/// Call under the locks.
void gate::note_close(std::chrono::steady_clock::time_point left) {
  placed& now = placed_of(bubbles_);
  now.host_ahead = !has_opened(bubbles_);
  now.leaving = now.closed = left;
  ++value_;
  open_ = false;
  if (now.is_wanted()) now.where->inside.end_bubble(stay_of(now), max_lease_at_open(now.where->past.longest()));
}

/// Forgets all bubbles before this one. Call under the locks.
void gate::begin_at(std::uint64_t bubble) {
  bubbles_ = collected_ = decided_ = bubble - 1;
  known_from_ = bubble;
  last_ = {};
  ahead_ = {};
}

void gate::follow_another(gate_words const& words) {
  ring_.fill_zero();
  std::lock_guard const edges{edges_};
  std::lock_guard const lock{mutex_};
  use(words);
  for (armed_worker& each : armed_) each.params.gate = ref_;
  value_ = 0;
  begin_at(1);
  copied_from_ = copied_past_ = 0;
  let_go_ = 0;
  open_ = false;
  opening_told_ = 0;
  placed_ = {};
  sites_.clear();
  stream_id_.store(0, std::memory_order_release);
}

}  // namespace lull::detail
