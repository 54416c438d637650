// SPDX-License-Identifier: Apache-2.0
#include <lull/host/keeper.hpp>

#include <algorithm>
#include <iterator>
#include <string>

#include <lull/host/error.hpp>

namespace lull::detail {

namespace {

/// Higher priority first, then in order of submission.
bool goes_before(submitted const& one, submitted const& other) {
  int const priority = one.description().priority;
  int const others = other.description().priority;
  return priority != others ? priority > others : one.order < other.order;
}

}  // namespace

keeper::keeper(std::shared_ptr<executor> machine, std::vector<std::unique_ptr<gate>>& gates, captured_gates& captured,
               std::function<void(std::string_view)> log)
    : machine_(std::move(machine)),
      gates_(gates),
      captured_(captured),
      log_(std::move(log)),
      summary_({.cpu_time = machine_->kind() == executor_kind::threads}),
      lease_(lease_at_close({})) {
  for (auto const& each : gates_) each->note_lease(lease_);
}

keeper::~keeper() {
  for (slot_line* const each : allocated_) machine_->release(each);
  for (place const& each : places_) {
    for (slot_of_gate const& slot : each.slots) machine_->unmap(slot.answer, sizeof(std::uint64_t));
  }
}

void keeper::add(std::shared_ptr<submitted> job) {
  std::lock_guard const lock{mutex_};
  make_slots_for(job->kernel());
  job->order = submitted_++;
  queue(std::move(job));
}

/// A worker that was enqueued for a task that has ended since still looks into its slot. What stands there must be of its kind, or
/// nothing: it would take the functor for another than it is.
void keeper::make_slots_for(worker_kernel const& kernel) {
  auto const is_its = [&](slot_of_gate const& slot) { return slot.of_stream != nullptr && slot.resident == kernel.resident; };
  if (std::any_of(places_[0].slots.begin(), places_[0].slots.end(), is_its)) return;
  std::array<std::vector<slot_of_gate>, places> made;
  auto* const slots = static_cast<slot_line*>(machine_->allocate(places * gates_.size() * sizeof(slot_line)));
  try {
    allocated_.push_back(slots);
    for (std::size_t i = 0; i < places * gates_.size(); ++i) {
      made[i / gates_.size()].push_back({.slot = slots + i,
                                         .answer = machine_->map(sizeof(std::uint64_t)),
                                         .resident = kernel.resident,
                                         .of_stream = gates_[i % gates_.size()].get(),
                                         .graph = {}});
    }
  } catch (...) {
    for (auto const& of_place : made) {
      for (slot_of_gate const& each : of_place) machine_->unmap(each.answer, sizeof(std::uint64_t));
    }
    throw;
  }
  for (std::size_t p = 0; p < places; ++p) {
    auto& into = places_[p].slots;
    into.insert(into.end(), std::make_move_iterator(made[p].begin()), std::make_move_iterator(made[p].end()));
  }
}

void keeper::queue(std::shared_ptr<submitted> job) {
  auto const goes_later = [&](auto const& other) { return goes_before(*job, *other); };
  waiting_.insert(std::find_if(waiting_.begin(), waiting_.end(), goes_later), std::move(job));
}

bool keeper::round() {
  std::lock_guard const lock{mutex_};
  auto const longest = collect_bubbles(false);
  if (longest.count() != 0) {
    auto const lease = lease_at_close(longest);
    if (lease > lease_ || lease < lease_ / 2) {
      lease_ = lease;
      renew_leases();
    }
  }
  std::erase_if(waiting_, [](std::shared_ptr<submitted> const& job) {
    submitted::wish const wanted = job->wanted();
    job->set_state(wanted == submitted::wish::cancel  ? job_state::cancelled
                   : wanted == submitted::wish::pause ? job_state::paused
                                                      : job_state::queued);
    return wanted == submitted::wish::cancel;
  });
  for (int p = 0; p < places; ++p) look_after(p);
  return !waiting_.empty() || std::any_of(places_.begin(), places_.end(), [](place const& p) { return p.at != stage::empty; });
}

/// Reads what replays left, gives new graphs' slots their place, and lets those go whose graphs are gone.
void keeper::follow_captures() {
  longest_captured_ = {};
  auto& slots = places_[0].slots;
  if (places_[0].who != nullptr) blocks_in_graphs_ = machine_->blocks_of(places_[0].who->kernel());
  for (std::shared_ptr<captured_gate> const& graph : captured_.all()) {
    bool const over = graph->is_over();
    longest_captured_ = std::max(longest_captured_, graph->collect(bubbles_, blocks_in_graphs_, over));
    auto const is_its = [&](slot_of_gate const& slot) { return slot.graph == graph; };
    if (over) {
      bool const busy = std::any_of(slots.begin(), slots.end(), [&](auto const& slot) { return is_its(slot) && slot.asked != 0; });
      if (busy) continue;
      for (slot_of_gate const& slot : slots) {
        if (is_its(slot)) machine_->unmap(slot.answer, sizeof(std::uint64_t));
      }
      std::erase_if(slots, is_its);
      captured_.forget(*graph);
    } else if (std::none_of(slots.begin(), slots.end(), is_its)) {
      try {
        for (captured_slot const& each : graph->slots()) {
          slots.push_back({.slot = each.slot, .answer = machine_->map(sizeof(std::uint64_t)), .resident = each.kernel.resident, .graph = graph});
        }
      } catch (limit_error const&) {  // no pinned memory now: what it has of slots is served
      }
    }
  }
}

/// Returns the longest recent bubble.
std::chrono::nanoseconds keeper::collect_bubbles(bool at_the_end) {
  std::chrono::nanoseconds longest{0};
  std::size_t const known = bubbles_.size();
  for (auto const& each : gates_) longest = std::max(longest, each->collect(bubbles_));
  auto const now = std::chrono::steady_clock::now();
  if (at_the_end || now - captures_read_ >= read_captures_every) {
    captures_read_ = now;
    follow_captures();
  }
  longest = std::max(longest, longest_captured_);
  for (std::size_t i = known; i < bubbles_.size(); ++i) summary_.add(bubbles_[i]);
  while (bubbles_.size() > most_bubbles) {
    bubbles_.pop_front();
    ++dropped_;
  }
  return longest;
}

void keeper::collect() {
  std::lock_guard const lock{mutex_};
  collect_bubbles(true);
}

void keeper::look_after(int index) {
  place& here = places_[static_cast<std::size_t>(index)];
  if (here.at == stage::empty) choose_for(index);
  if (here.at == stage::filling && move_slots(index, true)) {
    here.at = stage::standing;
    here.who->set_state(job_state::placed);
    worker_kernel const& kernel = here.who->kernel();
    for (slot_of_gate const& slot : here.slots) {
      if (slot.of_stream == nullptr || slot.resident != kernel.resident) continue;
      slot.of_stream->stand(index, {kernel, {slot.slot, slot.of_stream->ref(), machine_->rooms_of(kernel)}});
    }
  }
  if (here.at == stage::standing) {
    phase_state const reached = here.who->reached();
    bool const over = reached == phase_state::finished || reached == phase_state::failed;
    if (!over && quiet_ == 0 && here.who->wanted() == submitted::wish::run && !gives_way(index)) {
      move_slots(index, true);  // of graphs that were captured since
      return;
    }
    for (auto const& each : gates_) each->stand(index, {});
    here.at = stage::emptying;
  }
  if (here.at == stage::emptying && move_slots(index, false)) {
    settle(*here.who);
    job_state const now = here.who->state();
    if (now == job_state::paused || now == job_state::queued) queue(here.who);
    here.who.reset();
    here.at = stage::empty;
  }
}

submitted const* keeper::best_waiting() const {
  for (auto const& job : waiting_) {
    if (job->wanted() == submitted::wish::run) return job.get();
  }
  return nullptr;
}

/// A job of higher priority takes a place from the last of those that have one, and the first place is for the highest: it is the
/// only one that captured graphs have.
bool keeper::gives_way(int index) const {
  submitted const* const next = best_waiting();
  place const& here = places_[static_cast<std::size_t>(index)];
  place const& other = places_[static_cast<std::size_t>(1 - index)];
  int const mine = here.who->description().priority;
  if (index == 0 && other.at == stage::standing && other.who->description().priority > mine) return true;
  if (index == 1 && other.at == stage::empty && (next != nullptr ? mine > next->description().priority : in_graphs())) return true;
  if (next == nullptr) return false;
  bool const last = other.who == nullptr || goes_before(*other.who, *here.who);
  return last && next->description().priority > mine;
}

void keeper::choose_for(int index) {
  if (quiet_ != 0) return;
  place& where = places_[static_cast<std::size_t>(index)];
  submitted const* const next = best_waiting();
  submitted const* const behind = index == 0 ? places_[1].who.get() : nullptr;
  if (next == nullptr || (behind != nullptr && behind->description().priority > next->description().priority)) return;
  auto const chosen = std::find_if(waiting_.begin(), waiting_.end(), [next](auto const& job) { return job.get() == next; });
  where.who = *chosen;
  waiting_.erase(chosen);
  where.at = stage::filling;
}

bool keeper::in_graphs() const {
  return std::any_of(places_[0].slots.begin(), places_[0].slots.end(), [](slot_of_gate const& slot) { return slot.graph != nullptr; });
}

/// One exchange under way for each slot; true when all have succeeded.
bool keeper::move_slots(int index, bool fill) {
  place& here = places_[static_cast<std::size_t>(index)];
  bool all = true;
  for (slot_of_gate& slot : here.slots) {
    if (slot.asked != 0) {
      std::uint64_t const said = machine_->load_mapped(slot.answer.host);
      if (said / 2 != slot.asked) {
        all = false;
        continue;
      }
      if (said % 2 == 1) slot.full = slot.fills;  // else somebody stayed inside: asked again below
      slot.asked = 0;
    }
    if (slot.full == fill || (fill && slot.resident != here.who->kernel().resident)) continue;
    all = false;
    slot_content content;
    if (fill) content = {here.who->at(), static_cast<std::uint64_t>(lease_.count()), here.who->description().functor};
    slot.asked = next_id_++;
    slot.fills = fill;
    machine_->exchange(slot.slot, content, control_limit_ns, static_cast<std::uint64_t*>(slot.answer.device), slot.asked);
  }
  return all;
}

/// A job came out of its place: nobody is inside, and what it did is complete.
void keeper::settle(submitted& job) {
  job.read_totals();
  switch (job.reached()) {
    case phase_state::finished: return job.set_state(job_state::finished);
    case phase_state::failed:
      if (log_) log_("job '" + job.description().name + "' failed: a phase has more items than a cursor can count");
      return job.set_state(job_state::failed);
    default: break;
  }
  // Paused only by its owner's wish: who has wished so and sees it knows that nobody is inside until he resumes it.
  submitted::wish const wanted = job.wanted();
  job.set_state(wanted == submitted::wish::cancel  ? job_state::cancelled
                : wanted == submitted::wish::pause ? job_state::paused
                                                   : job_state::queued);
}

void keeper::renew_leases() {
  std::uint64_t const ns = static_cast<std::uint64_t>(lease_.count());
  for (place const& each : places_) {
    for (slot_of_gate const& slot : each.slots) machine_->write(&slot.slot->lease_ns, &ns, sizeof ns);
  }
  for (auto const& each : gates_) each->note_lease(lease_);
}

void keeper::cancel_all() {
  std::lock_guard const lock{mutex_};
  for (auto const& job : waiting_) job->want(submitted::wish::cancel);
  for (place const& each : places_) {
    if (each.who != nullptr) each.who->want(submitted::wish::cancel);
  }
}

void keeper::fail_all() noexcept {
  std::lock_guard const lock{mutex_};
  for (auto const& job : waiting_) job->set_state(job_state::failed);
  for (place const& each : places_) {
    if (each.who != nullptr) each.who->set_state(job_state::failed);
  }
}

bool keeper::empty() const {
  std::lock_guard const lock{mutex_};
  return waiting_.empty() && std::all_of(places_.begin(), places_.end(), [](place const& p) { return p.at == stage::empty; });
}

void keeper::be_quiet() noexcept {
  std::lock_guard const lock{mutex_};
  ++quiet_;
}

void keeper::release() noexcept {
  std::lock_guard const lock{mutex_};
  if (quiet_ > 0) --quiet_;
}

bool keeper::places_empty() const {
  std::lock_guard const lock{mutex_};
  return std::all_of(places_.begin(), places_.end(), [](place const& p) { return p.at == stage::empty; });
}

std::vector<bubble_report> keeper::take_bubbles() {
  std::lock_guard const lock{mutex_};
  std::vector<bubble_report> taken{bubbles_.begin(), bubbles_.end()};
  bubbles_.clear();
  return taken;
}

bubble_summary keeper::summary() const {
  std::lock_guard const lock{mutex_};
  return summary_;
}

std::uint64_t keeper::collected() const {
  std::lock_guard const lock{mutex_};
  return summary_.seen();
}

std::uint64_t keeper::dropped() const {
  std::lock_guard const lock{mutex_};
  return dropped_;
}

}  // namespace lull::detail
