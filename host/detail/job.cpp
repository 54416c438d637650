// SPDX-License-Identifier: Apache-2.0
#include <lull/host/job.hpp>

#include <algorithm>
#include <utility>

#include <lull/host/detail/deadline.hpp>
#include <lull/host/detail/job_record.hpp>
#include <lull/host/error.hpp>

namespace lull {

namespace {

detail::job_record& checked(std::shared_ptr<detail::job_record> const& state) {
  if (state == nullptr) throw usage_error{"this job handle is empty: take one from runtime::submit"};
  return *state;
}

}  // namespace

char const* name_of(job_state state) noexcept {
  switch (state) {
    case job_state::queued:
      return "queued";
    case job_state::placed:
      return "placed";
    case job_state::evicted:
      return "evicted";
    case job_state::paused:
      return "paused";
    case job_state::finished:
      return "finished";
    case job_state::failed:
      return "failed";
    case job_state::cancelled:
      return "cancelled";
  }
  return "unknown";
}

job_progress job::progress() const { return checked(state_).progress(); }
void job::pause() { checked(state_).want(detail::job_record::wish::pause); }
void job::resume() { checked(state_).want(detail::job_record::wish::run); }
void job::cancel() { checked(state_).want(detail::job_record::wish::cancel); }
std::uint64_t job::rounds() const { return checked(state_).rounds(); }
bool job::hold(std::chrono::nanoseconds at_most) { return checked(state_).hold(at_most); }
void job::let_go() noexcept {
  if (state_ != nullptr) state_->let_go();
}
void job::feed(std::uint64_t fed) { checked(state_).feed(fed); }
std::uint64_t job::fed() const { return checked(state_).fed(); }
bool job::wait(std::chrono::nanoseconds at_most) const { return checked(state_).wait(at_most); }

namespace detail {

job handle_of(std::shared_ptr<job_record> state) { return job{std::move(state)}; }
job_record& state_of(job const& handle) { return checked(handle.state_); }

namespace {

job_description with_a_grain(job_description description) {
  if (description.type.cuda.conducts && description.grain != 1)
    throw usage_error{"job '" + description.name + "': the grain of a graph is 1: its pieces are its segments"};
  if (description.grain == 0) throw usage_error{"job '" + description.name + "': the grain is 0: set it to 1 or more"};
  return description;
}

}  // namespace

job_record::job_record(std::shared_ptr<executor> machine, job_description description, std::uint64_t ring_capacity)
    : machine_(std::move(machine)),
      description_(with_a_grain(std::move(description))),
      capacity_(ring_capacity),
      cursor_(*machine_, 1),
      places_(*machine_, groups()),
      line_(*machine_, 1) {
  cursor words{};
  words.grain = description_.grain;
  words.places = places_.data();
  words.capacity = ring_capacity;
  words.progress = line_.device();
  words.round = line_.host()->round = description_.first_round;
  line_.host()->where = progress_word{words.round, 0, phase_state::starved}.word();
  if (description_.is_paused) {
    wish_ = wish::pause;
    state_ = job_state::paused;
  }
  write(words);
}

worker_kernel const& job_record::kernel() const noexcept {
  return machine_->kind() == executor_kind::cuda ? description_.type.cuda : description_.type.threads;
}

void job_record::want(wish what) {
  {
    std::lock_guard const lock{mutex_};
    if (wish_ != wish::cancel) wish_ = what;
  }
  if (wakes != nullptr) wakes->notify();
}

job_record::wish job_record::wanted() const {
  std::lock_guard const lock{mutex_};
  return wish_;
}

job_state job_record::state() const {
  std::lock_guard const lock{mutex_};
  return state_;
}

job_state job_record::move_to(job_state next) {
  job_state now;
  {
    std::lock_guard const lock{mutex_};
    if (is_final(state_)) return state_;
    if (next == job_state::queued && leaves_) next = job_state::evicted;
    if (next == job_state::queued && wish_ == wish::cancel) next = job_state::cancelled;
    if (next == job_state::queued && wish_ == wish::pause) next = job_state::paused;
    if (is_final(next)) leaves_ = false;
    if (next == job_state::paused && state_ != next) ++touches_;
    now = state_ = next;
  }
  changed_.notify_all();
  return now;
}

bool job_record::ask_to_leave() {
  std::lock_guard const lock{mutex_};
  if (is_final(state_) || holds_ != 0 || wish_ != wish::run) return false;
  return leaves_ = true;
}

void job_record::is_back() {
  {
    std::lock_guard const lock{mutex_};
    leaves_ = false;
  }
  changed_.notify_all();
}

bool job_record::is_asked_to_leave() const {
  std::lock_guard const lock{mutex_};
  return leaves_;
}

bool job_record::hold(std::chrono::nanoseconds at_most) {
  std::unique_lock lock{mutex_};
  bool const has_memory = description_.memory != nullptr;
  if (has_memory && description_.memory->is_lost()) return false;
  if (!wait_until(lock, at_most, [this] { return !leaves_; })) return false;
  if (has_memory && description_.memory->is_lost()) return false;
  ++holds_;
  ++touches_;
  return true;
}

void job_record::let_go() noexcept {
  std::lock_guard const lock{mutex_};
  if (holds_ != 0) --holds_;
}

bool job_record::wait(std::chrono::nanoseconds at_most) {
  std::unique_lock lock{mutex_};
  return wait_until(lock, at_most, [this] { return is_final(state_); });
}

template <class So>
bool job_record::wait_until(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds at_most, So so) {
  auto const deadline = deadline_after(at_most);
  for (;;) {
    // In pieces of a day: some standard libraries add what they wait for to another clock, and that sum could overflow.
    auto const piece = std::min<std::chrono::nanoseconds>(left_until(deadline), std::chrono::hours{24});
    if (changed_.wait_for(lock, piece, so)) return true;
    if (left_until(deadline).count() == 0) return false;
  }
}

cursor job_record::read() const {
  cursor words{};
  machine_->read(&words, cursor_.data(), sizeof words);
  return words;
}

void job_record::write(cursor const& words) { cursor_.write({&words, 1}); }

phase_state job_record::reached() const noexcept { return where().state(); }

progress_word job_record::where() const noexcept { return progress_word{machine_->load_mapped(&line_.host()->where)}; }

std::uint64_t job_record::rounds() const noexcept {
  // What the word says was done before it; the whole round beside it may be older or newer.
  progress_word const now = where();
  return now.round(machine_->load_mapped(&line_.host()->round));
}

void job_record::feed(std::uint64_t fed) {
  fed_ = fed;
  machine_->publish(&at()->fed, fed);
}

job_progress job_record::progress() const {
  progress_line const* const line = line_.host();
  job_progress now;
  {
    std::lock_guard const lock{mutex_};
    now = totals_;
    now.state = state_;
  }
  progress_word const at = where();
  now.phases = machine_->load_mapped(&line->phases);
  now.at = {at.round(machine_->load_mapped(&line->round)), at.step()};
  return now;
}

std::vector<std::uint64_t> job_record::save() {
  cursor const now = read();
  std::vector<ring_group> const places = places_.read();
  std::uint64_t const handed_back = now.ring.pushed - now.ring.popped;
  std::vector<std::uint64_t> saved{now.ticket, now.done,  now.limit, now.round, now.step,
                                   now.phases, now.items, now.state, now.fed,   handed_back};
  if (saved.size() + 2 * handed_back > state_words)
    throw limit_error{"job '" + description_.name + "': it has too many handed-back chunks to save: try again later"};
  for (ring_group const& group : places) {
    for (std::uint64_t at = 0; at < ring_group::places; ++at) {
      if ((group.full >> at & 1) != 0)
        saved.insert(saved.end(), {group.cells[at].tag_and_begin, group.cells[at].count});
    }
  }
  saved.resize(state_words);
  return saved;
}

namespace {

/// What `save` gives of a job of so many steps a round in which no block is. The words come from a file: nothing of
/// them is believed.
bool at_rest(std::span<std::uint64_t const> saved, std::uint32_t steps) {
  if (saved.size() != job_record::state_words || saved[4] >= steps || saved[7] >> 32 != 0) return false;
  tagged const ticket{saved[0]};
  std::uint64_t const done = saved[1];
  tagged const limit{saved[2]};
  tagged_state const now{static_cast<std::uint32_t>(saved[7])};
  std::uint64_t const handed_back = saved[9];
  if (now.state() == phase_state::opening || now.state() > phase_state::failed) return false;
  // The block that opens a phase leaves one tag in all three. Under another no block could open the next phase, and all
  // would wait for ever.
  if (now.tag() != limit.tag() || ticket.tag() != limit.tag()) return false;
  std::uint64_t const claimed = std::min(ticket.item(), limit.item());
  // Between two phases all was claimed and added up: items that were left would be done again.
  if (now.state() != phase_state::open) return claimed == limit.item() && done == 0 && handed_back == 0;
  if (done > limit.item() || handed_back > (saved.size() - 10) / 2) return false;
  std::uint64_t left = limit.item() - claimed;
  for (std::uint64_t at = 0; at < handed_back; ++at) {
    tagged const begin{saved[10 + 2 * at]};
    std::uint64_t const count = saved[11 + 2 * at];
    if (begin.tag() != limit.tag() || count == 0 || count >> 32 != 0 || count > claimed ||
        begin.item() > claimed - count)
      return false;
    left += count;
  }
  return done + left == limit.item();  // else the phase would have no end, or end too soon
}

}  // namespace

void job_record::restore(std::span<std::uint64_t const> saved) {
  if (!at_rest(saved, kernel().shape.steps)) {
    throw usage_error{"job '" + description_.name +
                      "': the checkpoint is damaged or not Lull's: delete it and start again"};
  }
  cursor now = read();
  now.ticket = saved[0];
  now.done = saved[1];
  now.limit = saved[2];
  now.round = saved[3];
  now.step = static_cast<std::uint32_t>(saved[4]);
  now.phases = saved[5];
  now.items = saved[6];
  now.state = static_cast<std::uint32_t>(saved[7]);
  now.fed = fed_ = saved[8];
  std::uint64_t const handed_back = saved[9];
  if (handed_back > capacity_)
    throw limit_error{
        "job '" + description_.name +
        "': the checkpoint has more handed-back chunks than this machine has room for: resume on a larger one"};
  std::vector<ring_group> places(groups());
  for (std::uint64_t at = 0; at < handed_back; ++at) {
    ring_group& group = places[at / ring_group::places];
    group.cells[at % ring_group::places] = {saved[10 + 2 * at], saved[11 + 2 * at]};
    group.taken = group.full |= std::uint64_t{1} << at % ring_group::places;
  }
  now.ring = {handed_back, 0};
  places_.write(places);
  write(now);
  // No block will say this again of a job that was over.
  *line_.host() = {now.phases, now.round, progress_word{now.round, now.step, tagged_state{now.state}.state()}.word(),
                   now.why};
}

void job_record::read_totals() {
  cursor const words = read();
  std::lock_guard const lock{mutex_};
  totals_.items = words.items + words.done;
  totals_.why = failure{words.why};
}

}  // namespace detail
}  // namespace lull
