// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/gate/gate.hpp>

#include <algorithm>
#include <utility>

#include <lull/host/cuda/nvtx.hpp>

namespace lull::detail {

namespace {

using steady = std::chrono::steady_clock;

}  // namespace

gate::gate(executor& executor, std::uint32_t index, std::uint32_t first_value, site_limits limits,
           gate_words const* words)
    : executor_(executor),
      index_(index),
      ring_(executor, places * records),
      shared_(words != nullptr ? words->shared : nullptr),
      value_(first_value),
      sites_(limits),
      pinned_(executor, 1) {
  ref_.records = ring_.data();
  ref_.record_mask = records - 1;
  for (std::uint64_t i = 0; i < records; ++i) marks_.push_back(executor_.make_mark());
  if (words == nullptr) {
    line_ = device_array<gate_line>{executor, 1};
    opening_line_.emplace(executor, 1);
    use({line_.data(), opening_line_->host(), opening_line_->device()});
  } else {
    awaited_ = device_array<awaited_words>{executor, 1};
    use(*words);
  }
  if (follows()) return;
  seen_.value = first_value;
  executor_.write(ref_.line, &seen_, sizeof seen_);
}

void gate::use(gate_words const& words) noexcept {
  ref_.line = words.line;
  ref_.opening = words.opening_on_device;
  ref_.awaited = awaited_.data() != nullptr ? awaited_.data() : &words.line->awaited;
  opening_ = words.opening;
  words_ = words.memory;
}

void gate::take(std::uint64_t stream_id) {
  {
    std::lock_guard const lock{mutex_};
    sites_.clear();
    close_policy_ = {};
    cap_ = {};
    last_ = {};
    ahead_ = {};
    last_used_ = steady::now();
  }
  // release: the cleared history, to the trainer's thread that finds its stream here
  stream_id_.store(stream_id, std::memory_order_release);
}

std::optional<steady::time_point> gate::idle_since() const {
  std::lock_guard const lock{mutex_};
  return open_ ? std::nullopt : unused_since();
}

std::optional<steady::time_point> gate::left_open_since() const {
  std::lock_guard const lock{mutex_};
  return open_ ? unused_since() : std::nullopt;
}

/// Call under the lock.
std::optional<steady::time_point> gate::unused_since() const {
  std::uint64_t const to_come = open_ ? 1 : 0;
  if (stream_id() == 0 || collected_ + to_come != bubbles_) return std::nullopt;
  return last_used_;
}

bool gate::is_in_use() const {
  if (stream_id() == 0) return false;  // without the lock, because most gates are free
  std::lock_guard const lock{mutex_};
  return stream_id() != 0 && (open_ || steady::now() - last_used_ < std::chrono::seconds{1});
}

void gate::vacate(steady::time_point since) {
  std::unique_lock const edges{edges_, std::try_to_lock};
  auto const unused = [this] {
    std::lock_guard const lock{mutex_};
    return unused_since();
  };
  if (!edges || unused() != since || !passed()) return;  // it is opening a bubble, or has opened one meanwhile
  stream_id_.store(0, std::memory_order_release);
}

void gate::arm(int place, armed_worker what) noexcept {
  std::lock_guard const lock{mutex_};
  what.params.gate = ref_;
  armed_[static_cast<std::size_t>(place)] = what;
}

bool gate::ready() const noexcept {
  std::lock_guard const lock{mutex_};
  return any_stands() || on_turn() != 0;
}

bool gate::any_stands() const noexcept {
  return std::any_of(armed_.begin(), armed_.end(), [](armed_worker const& s) { return s.params.slot != nullptr; });
}

/// Call under the lock.
open_result gate::pass_over(counted why) {
  ++counts_[why];
  return {{}, why};
}

open_result gate::open(stream_handle stream, std::uint64_t stream_id, site where, runtime_mode mode, launch_time launch,
                       bool halved) {
  std::lock_guard const edges{edges_};
  std::unique_lock lock{mutex_};
  if (stream_id != this->stream_id()) return pass_over(counted::no_gate);  // the gate was taken back a moment ago
  last_used_ = steady::now();
  if (open_) {
    placed& before = placed_of(bubbles_);
    bool const abandoned = before.where->name == where.name || last_used_ - before.opened > lease_;
    if (!abandoned) return pass_over(counted::nested);
    ++counts_[counted::abandoned];
    before.abandoned = true;
    lock.unlock();
    end_bubble(stream, closing{});
    lock.lock();
  }
  bool const ours = any_stands();
  if (mode == runtime_mode::on && !ours && on_turn() == 0) return pass_over(counted::no_job);
  if (bubbles_ - collected_ >= records) return pass_over(counted::records_unread);
  std::shared_ptr<site_state> const at = sites_.find(where.name);
  std::uint32_t const anothers = mode == runtime_mode::on && !ours ? worker_at(*at) : 0;
  if (mode == runtime_mode::on) {
    if (!ours && anothers == 0) return pass_over(counted::no_job);
    at->past.begin_bubble(cap_.times());
    at->inside.begin_bubble();
    history::verdict const verdict = at->past.judge();
    bool const is_worth_it = verdict == history::verdict::harvest;
    cap_.add(last_used_.time_since_epoch(), is_worth_it ? at->past.price() : std::chrono::nanoseconds{0});
    switch (verdict) {
      case history::verdict::harvest:
        break;
      case history::verdict::too_short:
        return pass_over(counted::too_short);
      case history::verdict::handed_back:
        if (ours) return pass_over(counted::all_handed_back);
        break;  // what this process's jobs did there tells nothing of another's
    }
  }
  std::uint64_t const bubble = bubbles_ + 1;
  // Blocks of another process tell this one nothing that it would believe, so the edges measure some of the bubbles.
  bool const timed = mode == runtime_mode::observe || (anothers != 0 && at->past.wants_length());
  bool const may_be_entered = !timed && ours && (launch == launch_time::at_open || at->inside.allowed());
  placed const now{.bubble = bubble,
                   .launch = launch_state::asked,
                   .where = at,
                   .timed = timed,
                   .may_be_entered = may_be_entered,
                   .at_open = may_be_entered && (launch == launch_time::at_open || at->past.better_at_open()),
                   .halved = halved,
                   .is_anothers = anothers != 0,
                   .host_ahead = {},
                   .length = {},
                   .lease = lease_,
                   .opened = last_used_,
                   .entered = last_used_};
  lock.unlock();
  executor_.open_edge(stream, ref_, value_ + 1, bubble, mark_of(bubble), timed);
  lock.lock();
  // Only now: a number counts only if its edge was enqueued.
  ++value_;
  bubbles_ = bubble;
  placed_of(bubble) = now;
  placed_of(bubble).range = begin_range(at->name.c_str());
  open_ = true;
  ++counts_[counted::opened];
  if (anothers != 0)
    shared_->tell(index_, {.bubble = bubble,
                           .value = value_,
                           .site = *at->shared_index,
                           .worker = anothers,
                           .halved = halved,
                           .called = now.opened,
                           .left = {}});
  return {{index_, bubble}, counted::opened};
}

/// Returns the worker of another process whose turn it is; 0: none.
std::uint32_t gate::on_turn() const noexcept { return shared_ != nullptr ? shared_->on_turn() : 0; }

/// Returns the same, if the site can be told to it.
std::uint32_t gate::worker_at(site_state& at) const noexcept {
  std::uint32_t const worker = on_turn();
  if (worker != 0 && !std::exchange(at.asked_to_share, true)) at.shared_index = shared_->number_of(at.name);
  return at.shared_index ? worker : 0;
}

void gate::note_entered(std::uint64_t bubble) {
  std::lock_guard const lock{mutex_};
  if (bubble == bubbles_ && open_) placed_of(bubble).entered = steady::now();
}

bool gate::host_stays() const {
  std::lock_guard const lock{mutex_};
  return open_ && placed_of(bubbles_).where->inside.host_stays();
}

void gate::close(bubble_id id, stream_handle stream, stream_found const& found, std::optional<closing> asked) {
  auto const now = steady::now();
  std::lock_guard const edges{edges_};
  std::unique_lock lock{mutex_};
  // An edge that went into a graph, or onto another stream, would close later bubbles and not this one.
  if (!open_ || id.bubble != bubbles_ || found.is != stream_found::plain || found.id != stream_id()) {
    ++counts_[counted::unmatched];
    return;
  }
  placed_of(bubbles_).leaving = now;
  closing const how =
      placed_of(bubbles_).timed ? closing{} : asked.value_or(close_policy_.choose(executor_.launch_gap()));
  lock.unlock();
  end_bubble(stream, how);
}

/// Returns how the host stayed in a bubble that it has closed.
open_lease::stay gate::stay_of(placed const& was) {
  bool const ended =
      was.launch != launch_state::left && was.max_lease_inside.count() != 0 && was.closed - was.launched > was.lease;
  return {was.leaving - was.entered, was.max_lease_inside,
          ended ? std::max(was.ended_lease, was.lease) : was.ended_lease};
}

/// Closes the open bubble, without the lock.
void gate::end_bubble(stream_handle stream, closing how) {
  placed& now = placed_of(bubbles_);
  bool const host_ahead = !has_opened(bubbles_);
  executor_.close_edge(stream, ref_, value_ + 1, mark_of(bubbles_), now.timed, how);
  std::lock_guard const lock{mutex_};
  ++value_;
  open_ = false;
  now.closed = steady::now();
  now.host_ahead = host_ahead;
  auto const max_lease = max_lease_at_open(now.where->past.longest());
  if (now.is_wanted()) now.where->inside.end_bubble(stay_of(now), max_lease);
  if (now.is_anothers) shared_->tell_close(index_, now.bubble, now.abandoned ? now.closed : now.leaving);
  end_range(now.range);
}

runtime_counts gate::counts() const {
  std::lock_guard const lock{mutex_};
  return counts_;
}

bool gate::passed() const {
  std::lock_guard const lock{mutex_};
  return follows() || executor_.passed(seen_, value_);
}

bool gate::is_forged() const {
  std::lock_guard const lock{mutex_};
  return is_forged_;
}

void gate::note_lease(std::chrono::nanoseconds lease) noexcept {
  std::lock_guard const lock{mutex_};
  lease_ = lease;
}

}  // namespace lull::detail
