// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/dispatch/placer.hpp>

#include <algorithm>
#include <utility>

#include <lull/host/error.hpp>

namespace lull::detail {

namespace {

using steady = std::chrono::steady_clock;

char const* reason(failure why) {
  return why == failure::no_launch ? "the device could not launch its next segment, three times"
                                   : "a phase has more items than a cursor can count";
}

}  // namespace

placer::placer(std::shared_ptr<executor> executor, std::vector<std::unique_ptr<gate>>& gates, captured_gates& captured,
               job_queue& queue, log_queue& log)
    : executor_(std::move(executor)),
      gates_(gates),
      captured_(captured),
      queue_(queue),
      log_(log),
      lane_(executor_->make_control_lane()),
      lease_(lease_at_close({})),
      lease_ns_(*executor_, 1) {
  for (auto const& each : gates_) each->note_lease(lease_);
}

placer::~placer() {
  lane_.reset();  // waits for the copies
  for (slot_of_gate const& slot : places_[0].slots) {
    if (slot.graph != nullptr) executor_->unmap(slot.answer, sizeof(std::uint64_t));
  }
}

/// A worker that was enqueued for a task that has ended still reads its slot. The slot must then hold a task of its
/// kind, or nothing: the worker would misread another functor.
void placer::prepare(job_core const& job) {
  void const* const kind = job.kernel().resident;
  bool needs_slots = false;
  bool needs_seats = false;
  {
    std::lock_guard const lock{mutex_};
    needs_slots = !kinds_.contains(kind);
    needs_seats = capacity_ < job.ring_capacity();
  }
  std::vector<std::shared_ptr<job_seat>> made_seats;
  for (std::size_t at = 0; needs_seats && at < seats; ++at)
    made_seats.push_back(std::make_shared<job_seat>(executor_, job.ring_capacity()));
  std::unique_ptr<slot_memory> made_slots;
  if (needs_slots) {
    made_slots = std::make_unique<slot_memory>(*executor_, places * gates_.size());
    made_slots->resident = kind;
  }
  std::lock_guard const lock{mutex_};
  if (needs_slots && kinds_.insert(kind).second) new_slots_.push_back(std::move(made_slots));
  if (capacity_ >= job.ring_capacity()) return;
  new_seats_.insert(new_seats_.end(), made_seats.begin(), made_seats.end());
  capacity_ = job.ring_capacity();
}

void placer::take_what_was_made() {
  std::vector<std::unique_ptr<slot_memory>> slots;
  std::vector<std::shared_ptr<job_seat>> larger;
  {
    std::lock_guard const lock{mutex_};
    slots.swap(new_slots_);
    larger.swap(new_seats_);
  }
  if (!larger.empty()) std::erase_if(seats_, [](auto const& seat) { return seat.use_count() == 1; });
  seats_.insert(seats_.end(), larger.begin(), larger.end());
  for (std::unique_ptr<slot_memory>& made : slots) {
    for (std::size_t i = 0; i < places * gates_.size(); ++i) {
      places_[i / gates_.size()].slots.push_back({.slot = made->lines.data() + i,
                                                  .answer = {made->answers.host() + i, made->answers.device() + i},
                                                  .resident = made->resident,
                                                  .source = gates_[i % gates_.size()].get(),
                                                  .graph = {}});
    }
    of_streams_.push_back(std::move(made));
  }
}

/// Returns an unused seat that is large enough: a job's `feed` may keep its seat longer than the job does.
std::shared_ptr<job_seat> placer::free_seat(std::uint64_t capacity) const {
  auto const found = std::find_if(seats_.begin(), seats_.end(), [&](auto const& seat) {
    return seat.use_count() == 1 && seat->capacity() >= capacity;
  });
  return found != seats_.end() ? *found : nullptr;
}

void placer::release() noexcept {
  int before = quiet_.load();
  while (before > 0 && !quiet_.compare_exchange_weak(before, before - 1)) {
  }
}

void placer::tick() {
  take_what_was_made();
  keep_a_spare_gate();
  if (places_[0].job != nullptr) at_work_ = places_[0].job->kernel().resident;
  renew_leases();
  for (int p = 0; p < places; ++p) look_after(p);
}

/// Keeps a free gate for a stream of the trainer's that is seen for the first time.
void placer::keep_a_spare_gate() {
  gate* max_idle = nullptr;
  steady::time_point unused_since{};
  auto since = steady::now() - idle_for;
  for (auto const& each : gates_) {
    if (!each->is_taken()) return;
    auto const idle = each->idle_since();
    auto const left_open = each->left_open_since();  // its stream may be gone
    if (!idle && !left_open) continue;
    auto const counted_from = idle ? *idle : *left_open + (left_open_for - idle_for);
    if (counted_from < since) {
      max_idle = each.get();
      since = counted_from;
      unused_since = idle ? *idle : *left_open;
    }
  }
  if (max_idle != nullptr) max_idle->vacate(unused_since);
}

/// Returns whether jobs are placed there: in graphs, on the gates of the trainer's streams, and on the one that its
/// next stream would take.
bool placer::is_served(bubble_source const& of) const {
  if (of.is_taken()) return true;
  auto const spare = std::find_if(gates_.begin(), gates_.end(), [](auto const& each) { return !each->is_taken(); });
  return spare == gates_.end() || spare->get() == &of;  // end: it was taken a moment ago
}

/// Gives new graphs' slots their place, and frees those whose graphs are gone.
void placer::follow_captures() {
  if (std::uint64_t const looks = captured_.looks(); std::exchange(graphs_looked_at_, looks) == looks) return;
  auto& slots = places_[0].slots;
  for (std::shared_ptr<captured_gate> const& graph : captured_.take_new()) {
    std::size_t const before = slots.size();
    slots.reserve(before + graph->slots().size());
    try {
      for (captured_slot const& each : graph->slots()) {
        slots.push_back({.slot = each.slot,
                         .answer = executor_->map(sizeof(std::uint64_t)),
                         .resident = each.kernel.resident,
                         .source = &captured_,
                         .graph = graph});
      }
    } catch (limit_error const&) {  // no pinned memory now
      for (std::size_t at = before; at < slots.size(); ++at) executor_->unmap(slots[at].answer, sizeof(std::uint64_t));
      slots.resize(before);
      captured_.take_later(graph);
    }
  }
  for (std::shared_ptr<captured_gate> const& graph : captured_.all()) {
    if (!graph->is_finished()) continue;
    auto const is_its = [&](slot_of_gate const& slot) { return slot.graph == graph; };
    bool const is_used =
        std::any_of(slots.begin(), slots.end(), [&](auto const& slot) { return is_its(slot) && slot.asked != 0; });
    if (is_used || !lane_->done()) continue;  // a lease may be on its way to a slot
    for (slot_of_gate const& slot : slots) {
      if (is_its(slot)) executor_->unmap(slot.answer, sizeof(std::uint64_t));
    }
    std::erase_if(slots, is_its);
    captured_.forget(*graph);
  }
}

void placer::look_after(int index) {
  place& here = at(index);
  if (here.at == place_state::empty) choose_for(index);
  if (here.at == place_state::empty) return;
  if (here.at == place_state::filling && move_slots(index, true)) {
    here.at = place_state::filled;
    here.job->move_to(job_state::placed);
  }
  if (!here.has_all_input && here.at != place_state::emptying && lane_->done())
    here.has_all_input = here.job->catch_up_fed(*lane_);
  if (here.at == place_state::filled) {
    if (stays(index)) {
      move_slots(index, true);  // also for graphs and streams that came since
      return;
    }
    for (auto const& each : gates_) each->arm(index, {});
    here.at = place_state::emptying;
  }
  if (here.at == place_state::emptying && move_slots(index, false) && lane_->done() && here.job->leave(*lane_))
    take_out(here);
}

void placer::put_in(place& here, job_pointer job, std::shared_ptr<job_seat> seat) {
  queue_.take(job);
  job->take(std::move(seat), *lane_);
  here.at = place_state::filling;
  here.job = std::move(job);
}

void placer::clear(place& here) {
  place empty;
  empty.slots = std::move(here.slots);
  here = std::move(empty);
}

bool placer::stays(int index) {
  place& here = at(index);
  phase_state const reached = here.job->reached();
  bool const is_over = reached == phase_state::finished || reached == phase_state::failed;
  bool const may_stay = here.job->wanted() == job_core::wish::run && !here.job->is_asked_to_leave();
  return !is_over && may_stay && quiet_ == 0 && !given_up_ && !gives_way(index) && !starves_too_long(here);
}

/// Returns whether the job starves for long while another has no place.
bool placer::starves_too_long(place& here) {
  job_progress const now = here.job->progress();
  bool const starves = here.job->reached() == phase_state::starved && now.phases == here.phases;
  here.phases = now.phases;
  if (!starves) {
    here.starves_since.reset();
    return false;
  }
  if (!here.starves_since) here.starves_since = steady::now();
  if (steady::now() - *here.starves_since < patience || best_waiting() == nullptr) return false;
  here.job->rests_until = steady::now() + patience;
  return true;
}

/// Takes the job out; no block is inside, and what they did is complete.
void placer::take_out(place& here) {
  job_pointer const job = std::move(here.job);
  if (here.starves_since && steady::now() - *here.starves_since >= patience)
    job->rests_until = steady::now() + patience;  // also where it makes way for another process
  clear(here);
  job_state next = given_up_ ? job_state::failed : job_state::queued;
  if (job->reached() == phase_state::finished) next = job_state::finished;
  if (job->reached() == phase_state::failed) {
    log_.add("job '" + job->description().name + "' failed: " + reason(job->progress().why));
    next = job_state::failed;
  }
  queue_.put_back(job, job->move_to(next));
  --taken_places_;  // last: if all are empty, the job has its new state
}

/// Runs one exchange at a time for each slot. Returns true when all have succeeded; after emptying, a copy of the job's
/// words comes last.
bool placer::move_slots(int index, bool fill) {
  place& here = at(index);
  bool all = true;
  bool const is_idle = lane_->done();
  for (slot_of_gate& slot : here.slots) {
    if (slot.asked != 0) {
      std::uint64_t const said = executor_->load_mapped(slot.answer.host);
      if (said / 2 != slot.asked) {
        all = false;
        continue;
      }
      if (said % 2 == 1) slot.full = slot.fills;
      slot.is_held = said % 2 == 0;  // asked again below
      slot.asked = 0;
      if (slot.full && fill) slot.source->arm(index, {here.job->kernel(), here.job->grid, {slot.slot, {}}});
    }
    if (slot.full == fill || (fill && slot.resident != here.job->kernel().resident)) continue;
    if (fill && !is_served(*slot.source)) continue;
    all = false;
    // otherwise the stream might never become idle, and the other place waits for that
    if (slot.is_held && !is_idle) continue;
    slot_content content;
    if (fill) {
      content = {here.job->seat()->at(), static_cast<std::uint64_t>(lease_.count()), here.job->description().functor};
    }
    executor_->exchange(slot.slot, content, control_limit_ns, static_cast<std::uint64_t*>(slot.answer.device),
                        next_id_);
    slot.asked = next_id_++;  // only now: an exchange that could not be enqueued is never answered
    slot.fills = fill;
    here.reads_words = false;
  }
  if (!fill && !std::exchange(here.reads_words, true)) here.job->begin_to_leave(*lane_);
  return all;
}

void placer::note_longest_bubble(std::chrono::nanoseconds longest) {
  if (longest.count() == 0) return;
  auto const lease = lease_at_close(longest);
  if (lease <= lease_ && lease >= lease_ / 2) return;
  lease_ = lease;
  for (auto const& each : gates_) each->note_lease(lease_);
  leases_are_old_ = true;
  for (place& each : places_) {
    for (slot_of_gate& slot : each.slots) slot.lease_is_old = slot.full || slot.asked != 0;
  }
}

/// Writes some at a time, so that the stream's queue does not fill up.
void placer::renew_leases() {
  if (!leases_are_old_ || !lane_->done()) return;
  *lease_ns_.data() = static_cast<std::uint64_t>(lease_.count());
  std::size_t left = max_leases;
  for (place& each : places_) {
    for (slot_of_gate& slot : each.slots) {
      if (!slot.lease_is_old) continue;
      if (left == 0) return;
      --left;
      lane_->copy_in(&slot.slot->lease_ns, lease_ns_.data(), sizeof(std::uint64_t));
      slot.lease_is_old = false;
    }
  }
  leases_are_old_ = false;
}

void placer::fail_all() noexcept {
  for (place& each : places_) {
    if (each.job == nullptr) continue;
    each.job->abandon_seat();
    clear(each);
    --taken_places_;
  }
  queue_.fail_all();
}

bool placer::is_busy() const {
  bool const has_empty =
      std::any_of(places_.begin(), places_.end(), [](place const& p) { return p.at == place_state::empty; });
  if (has_empty && quiet_ == 0 && best_waiting() != nullptr) return true;
  return std::any_of(places_.begin(), places_.end(), [](place const& p) {
    if (p.at == place_state::filling || p.at == place_state::emptying) return true;
    if (p.at == place_state::filled && !p.has_all_input) return true;
    return std::any_of(p.slots.begin(), p.slots.end(), [](slot_of_gate const& slot) { return slot.asked != 0; });
  });
}

bool placer::any_stands() const noexcept {
  return std::any_of(places_.begin(), places_.end(), [](place const& p) { return p.at == place_state::filled; });
}

bool placer::in_graphs() const noexcept {
  return std::any_of(places_[0].slots.begin(), places_[0].slots.end(),
                     [](slot_of_gate const& slot) { return slot.graph != nullptr; });
}

bool placer::only_in_graphs() const {
  if (!in_graphs()) return false;
  auto const since = steady::now() - idle_for;
  return std::all_of(gates_.begin(), gates_.end(), [&](auto const& each) {
    if (!each->is_taken()) return true;
    auto const idle = each->idle_since();
    return idle && *idle < since;
  });
}

placed_kinds placer::kinds_in_places() const {
  placed_kinds found{};
  for (std::size_t p = 0; p < places_.size(); ++p) {
    place const& each = places_[p];
    bool const is_placed = each.at == place_state::filling || each.at == place_state::filled;
    if (is_placed && can_run(*each.job)) found.at(p) = kind_of(*each.job);
  }
  return found;
}

bool placer::may_halve() const {
  return !in_graphs() && std::none_of(places_.begin(), places_.end(), [](place const& each) {
    return each.job != nullptr && !each.job->grid.can_halve();
  });
}

}  // namespace lull::detail
