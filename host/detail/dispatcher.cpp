// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/dispatcher.hpp>

#include <algorithm>
#include <string>

#include <lull/host/error.hpp>

namespace lull::detail {

namespace {

char const* reason(failure why) {
  return why == failure::no_launch ? "the device could not launch its next segment, three times"
                                   : "a phase has more items than a cursor can count";
}

}  // namespace

dispatcher::dispatcher(std::shared_ptr<executor> machine, std::vector<std::unique_ptr<gate>>& gates,
                       captured_gates& captured, device_clock& clock, std::shared_ptr<wake_signal> wakes,
                       job_memories::limits const& of_memory, std::chrono::nanoseconds min_bubble,
                       std::function<void(std::string_view)> log)
    : machine_(std::move(machine)),
      gates_(gates),
      captured_(captured),
      log_(std::move(log)),
      clock_(clock),
      wakes_(std::move(wakes)),
      memories_(*machine_, of_memory),
      lane_(machine_->make_copy_lane()),
      summary_({.cpu_time = machine_->kind() == executor_kind::threads, .harvest = {.worth = min_bubble}}),
      lease_(lease_at_close({})) {
  for (auto const& each : gates_) each->note_lease(lease_);
  tell_reserved({}, 0);
}

dispatcher::~dispatcher() {
  for (slot_of_gate const& slot : places_[0].slots) {
    if (slot.graph != nullptr) machine_->unmap(slot.answer, sizeof(std::uint64_t));
  }
}

void dispatcher::add(std::shared_ptr<job_record> job) {
  std::lock_guard const lock{mutex_};
  memories_.require_its_own(all_jobs(), *job);
  make_slots_for(job->kernel());
  job->order = submitted_++;
  job->wakes = wakes_;
  queue(std::move(job));
}

/// A worker that was enqueued for a task that has ended since still looks into its slot. What stands there must be of
/// its kind, or nothing: it would take the functor for another than it is.
void dispatcher::make_slots_for(worker_kernel const& kernel) {
  auto const is_its = [&](slot_of_gate const& slot) {
    return slot.of_stream != nullptr && slot.resident == kernel.resident;
  };
  if (std::any_of(places_[0].slots.begin(), places_[0].slots.end(), is_its)) return;
  for (place& each : places_) each.slots.reserve(each.slots.size() + gates_.size());
  slot_memory const& made = of_streams_.emplace_back(*machine_, places * gates_.size());
  for (std::size_t i = 0; i < places * gates_.size(); ++i) {  // nothing here throws: there is room
    places_[i / gates_.size()].slots.push_back({.slot = made.lines.data() + i,
                                                .answer = {made.answers.host() + i, made.answers.device() + i},
                                                .resident = kernel.resident,
                                                .of_stream = gates_[i % gates_.size()].get(),
                                                .graph = {}});
  }
}

void dispatcher::queue(std::shared_ptr<job_record> job) {
  auto const goes_later = [&](auto const& other) { return goes_before(*job, *other); };
  waiting_.insert(std::find_if(waiting_.begin(), waiting_.end(), goes_later), std::move(job));
}

dispatcher::time_point dispatcher::tick() {
  read_free();
  std::unique_lock lock{mutex_};
  keep_a_spare_gate();
  auto const longest = collect_bubbles(false);
  reserve_more(lock);
  if (longest.count() != 0) {
    auto const lease = lease_at_close(longest);
    if (lease > lease_ || lease < lease_ / 2) {
      lease_ = lease;
      renew_leases();
    }
  }
  std::erase_if(waiting_, [this](std::shared_ptr<job_record> const& job) {
    job_state const now = job->move_to(given_up_ ? job_state::failed : job_state::queued);
    return now == job_state::cancelled || now == job_state::failed;
  });
  memories_.tick(all_jobs(), std::chrono::steady_clock::now());
  answered_.notify_all();
  for (int p = 0; p < places; ++p) look_after(p, lock);
  return std::min(next_tick(), memories_.next());
}

dispatcher::time_point dispatcher::next_tick() const {
  auto const now = std::chrono::steady_clock::now();
  auto const is_at = [&](auto which) { return std::any_of(places_.begin(), places_.end(), which); };
  auto const moves = [](place const& p) {
    bool const asked =
        std::any_of(p.slots.begin(), p.slots.end(), [](slot_of_gate const& slot) { return slot.asked != 0; });
    return p.at == place_state::filling || p.at == place_state::emptying || asked;
  };
  bool const has_empty = is_at([](place const& p) { return p.at == place_state::empty; });
  if (is_at(moves) || (has_empty && quiet_ == 0 && best_waiting() != nullptr)) return now + at_once;
  if (std::any_of(gates_.begin(), gates_.end(), [](auto const& gate) { return gate->outstanding() != 0; }))
    return now + soon;
  return now + (is_at([](place const& p) { return p.at == place_state::standing; }) || in_graphs() || captured_.any()
                    ? later
                    : much_later);
}

/// So that a stream of the trainer's that is seen for the first time finds one.
void dispatcher::keep_a_spare_gate() {
  gate* max_idle = nullptr;
  auto since = std::chrono::steady_clock::now() - idle_for;
  for (auto const& each : gates_) {
    if (each->stream_id() == 0) return;
    if (auto const idle = each->idle_since(); idle && *idle < since) {
      max_idle = each.get();
      since = *idle;
    }
  }
  if (max_idle != nullptr) max_idle->vacate();
}

/// Jobs stand ready on the gates of the trainer's streams, and on the one that its next stream would take.
bool dispatcher::is_served(gate const& of) const {
  if (of.stream_id() != 0) return true;
  auto const spare =
      std::find_if(gates_.begin(), gates_.end(), [](auto const& each) { return each->stream_id() == 0; });
  return spare == gates_.end() || spare->get() == &of;  // end: it was taken a moment ago
}

/// Gives new graphs' slots their place, and lets those go whose graphs are gone.
void dispatcher::follow_captures() {
  auto& slots = places_[0].slots;
  for (std::shared_ptr<captured_gate> const& graph : captured_.take_new()) {
    std::size_t const before = slots.size();
    slots.reserve(before + graph->slots().size());
    try {
      for (captured_slot const& each : graph->slots()) {
        slots.push_back({.slot = each.slot,
                         .answer = machine_->map(sizeof(std::uint64_t)),
                         .resident = each.kernel.resident,
                         .graph = graph});
      }
    } catch (limit_error const&) {  // no pinned memory now
      for (std::size_t at = before; at < slots.size(); ++at) machine_->unmap(slots[at].answer, sizeof(std::uint64_t));
      slots.resize(before);
      captured_.take_later(graph);
    }
  }
  for (std::shared_ptr<captured_gate> const& graph : captured_.all()) {
    if (!graph->is_finished()) continue;
    auto const is_its = [&](slot_of_gate const& slot) { return slot.graph == graph; };
    if (std::any_of(slots.begin(), slots.end(), [&](auto const& slot) { return is_its(slot) && slot.asked != 0; }))
      continue;
    for (slot_of_gate const& slot : slots) {
      if (is_its(slot)) machine_->unmap(slot.answer, sizeof(std::uint64_t));
    }
    std::erase_if(slots, is_its);
    captured_.forget(*graph);
  }
}

void dispatcher::look_after(int index, std::unique_lock<std::mutex>& lock) {
  place& here = places_[static_cast<std::size_t>(index)];
  if (here.at == place_state::empty) choose_for(index);
  if (here.at == place_state::filling && move_slots(index, true)) {
    here.at = place_state::standing;
    here.who->move_to(job_state::placed);
  }
  if (here.at == place_state::standing) {
    phase_state const reached = here.who->reached();
    bool const over = reached == phase_state::finished || reached == phase_state::failed;
    bool const stays = here.who->wanted() == job_record::wish::run && !here.who->is_asked_to_leave();
    if (!over && quiet_ == 0 && stays && !gives_way(index)) {
      move_slots(index, true);  // of graphs and streams that came since
      return;
    }
    for (auto const& each : gates_) each->stand(index, {});
    here.at = place_state::emptying;
  }
  if (here.at == place_state::emptying && move_slots(index, false)) {
    job_state const now = settle(*here.who, lock);
    if (now == job_state::paused || now == job_state::queued || now == job_state::evicted) queue(here.who);
    here.who.reset();
    here.at = place_state::empty;
  }
}

bool dispatcher::in_graphs() const {
  return std::any_of(places_[0].slots.begin(), places_[0].slots.end(),
                     [](slot_of_gate const& slot) { return slot.graph != nullptr; });
}

bool dispatcher::only_in_graphs() const {
  if (!in_graphs()) return false;
  auto const since = std::chrono::steady_clock::now() - idle_for;
  return std::all_of(gates_.begin(), gates_.end(), [&](auto const& each) {
    if (each->stream_id() == 0) return true;
    auto const idle = each->idle_since();
    return idle && *idle < since;
  });
}

/// One exchange under way for each slot; true when all have succeeded.
bool dispatcher::move_slots(int index, bool fill) {
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
      if (slot.full && fill && slot.of_stream != nullptr) {
        slot.of_stream->stand(index, {here.who->kernel(), here.who->grid, {slot.slot, slot.of_stream->ref()}});
      }
    }
    if (slot.full == fill || (fill && slot.resident != here.who->kernel().resident)) continue;
    if (fill && slot.of_stream != nullptr && !is_served(*slot.of_stream)) continue;
    all = false;
    slot_content content;
    if (fill) content = {here.who->at(), static_cast<std::uint64_t>(lease_.count()), here.who->description().functor};
    machine_->exchange(slot.slot, content, control_limit_ns, static_cast<std::uint64_t*>(slot.answer.device), next_id_);
    slot.asked = next_id_++;  // only now: what could not be enqueued is never answered
    slot.fills = fill;
  }
  return all;
}

/// The program's callback is called without the lock, for it may wait for another of the program's threads that is
/// inside one of our calls; only the dispatcher changes a place meanwhile.
void dispatcher::say(std::string const& line, std::unique_lock<std::mutex>& lock) {
  if (!log_) return;
  lock.unlock();
  log_(line);
  lock.lock();
}

/// A job came out of its place: no block is inside, and what they did is complete.
job_state dispatcher::settle(job_record& job, std::unique_lock<std::mutex>& lock) {
  job.read_totals();
  switch (job.reached()) {
    case phase_state::finished:
      return job.move_to(job_state::finished);
    case phase_state::failed:
      say("job '" + job.description().name + "' failed: " + reason(job.progress().why),
          lock);  // before anybody sees it over
      return job.move_to(job_state::failed);
    default:
      return job.move_to(given_up_ ? job_state::failed : job_state::queued);
  }
}

void dispatcher::renew_leases() {
  std::uint64_t const ns = static_cast<std::uint64_t>(lease_.count());
  for (place const& each : places_) {
    for (slot_of_gate const& slot : each.slots) {
      if (slot.full || slot.asked != 0) machine_->write(&slot.slot->lease_ns, &ns, sizeof ns);
    }
  }
  for (auto const& each : gates_) each->note_lease(lease_);
}

void dispatcher::give_up() {
  {
    std::lock_guard const lock{mutex_};
    given_up_ = true;
    memories_.end_requests();
  }
  answered_.notify_all();
  cancel_all();
}

void dispatcher::cancel_all() {
  std::lock_guard const lock{mutex_};
  for (auto const& job : waiting_) job->want(job_record::wish::cancel);
  for (place const& each : places_) {
    if (each.who != nullptr) each.who->want(job_record::wish::cancel);
  }
}

void dispatcher::fail_all() noexcept {
  std::lock_guard const lock{mutex_};
  memories_.end_requests();
  answered_.notify_all();
  for (auto const& job : waiting_) job->move_to(job_state::failed);
  waiting_.clear();
  for (place& each : places_) {
    if (each.who != nullptr) each.who->move_to(job_state::failed);
    each.who.reset();
    each.at = place_state::empty;
  }
}

bool dispatcher::empty() const {
  std::lock_guard const lock{mutex_};
  return waiting_.empty() &&
         std::all_of(places_.begin(), places_.end(), [](place const& p) { return p.at == place_state::empty; });
}

void dispatcher::be_quiet() noexcept { ++quiet_; }

void dispatcher::release() noexcept {
  int before = quiet_.load();
  while (before > 0 && !quiet_.compare_exchange_weak(before, before - 1)) {
  }
}

standing_kinds dispatcher::standing() const {
  std::lock_guard const lock{mutex_};
  standing_kinds found{};
  for (std::size_t p = 0; p < places_.size(); ++p) {
    place const& each = places_[p];
    bool const stands = each.at == place_state::filling || each.at == place_state::standing;
    if (stands && can_run(*each.who)) found.at(p) = kind_of(*each.who);
  }
  return found;
}

bool dispatcher::may_halve() const {
  std::lock_guard const lock{mutex_};
  return !in_graphs() && std::none_of(places_.begin(), places_.end(), [](place const& each) {
    return each.who != nullptr && !each.who->grid.can_halve();
  });
}

bool dispatcher::places_empty() const {
  std::lock_guard const lock{mutex_};
  return std::all_of(places_.begin(), places_.end(), [](place const& p) { return p.at == place_state::empty; });
}

}  // namespace lull::detail
