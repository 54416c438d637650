// SPDX-License-Identifier: Apache-2.0
#include <lull/host/job.hpp>

#include <algorithm>
#include <utility>

#include <lull/host/detail/deadline.hpp>
#include <lull/host/detail/forks.hpp>
#include <lull/host/detail/job/job_core.hpp>
#include <lull/host/detail/job/job_queue.hpp>
#include <lull/host/error.hpp>

namespace lull {

namespace {

detail::job_core& checked(std::shared_ptr<detail::job_core> const& state) {
  if (state == nullptr) throw usage_error{"this job handle is empty: take one from runtime::submit"};
  if (state->in_child())
    throw usage_error{"this process was forked from the one that submitted the job: submit another after the fork"};
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
    case job_state::off:
      return "off";
  }
  return "unknown";
}

job_progress job::progress() const { return checked(state_).progress(); }
void job::pause() { checked(state_).want(detail::job_core::wish::pause); }
void job::resume() { checked(state_).want(detail::job_core::wish::run); }
void job::cancel() { checked(state_).want(detail::job_core::wish::cancel); }
std::uint64_t job::rounds() const { return checked(state_).rounds(); }
bool job::hold(std::chrono::nanoseconds at_most) { return checked(state_).hold(at_most); }
void job::let_go() noexcept {
  if (state_ != nullptr && !state_->in_child()) state_->let_go();
}
void job::feed(std::uint64_t fed) { checked(state_).feed(fed); }
std::uint64_t job::fed() const { return checked(state_).fed(); }
bool job::wait(std::chrono::nanoseconds at_most) const { return checked(state_).wait(at_most); }

namespace detail {

job handle_of(std::shared_ptr<job_core> state) { return job{std::move(state)}; }
job_core& state_of(job const& handle) { return checked(handle.state_); }

namespace {

job_description with_a_grain(job_description description) {
  if (description.type.cuda.conducts && description.grain != 1)
    throw usage_error{"job '" + description.name + "': the grain of a graph is 1: its pieces are its segments"};
  if (description.grain == 0) throw usage_error{"job '" + description.name + "': the grain is 0: set it to 1 or more"};
  return description;
}

}  // namespace

job_core::job_core(std::shared_ptr<executor> executor, job_description description, std::uint64_t ring_capacity)
    : executor_(std::move(executor)),
      description_(with_a_grain(std::move(description))),
      capacity_(ring_capacity),
      forks_(forks_now()) {
  image_.words.grain = description_.grain;
  image_.words.round = description_.first_round;
  if (description_.is_paused) {
    wish_ = wish::pause;
    state_ = job_state::paused;
  }
}

worker_kernel const& job_core::kernel() const noexcept {
  return executor_->kind() == executor_kind::cuda ? description_.type.cuda : description_.type.threads;
}

void job_core::tell_queue() {
  if (auto const queue = kept_by.lock()) queue->note(shared_from_this());
}

void job_core::want(wish what) {
  {
    std::lock_guard const lock{mutex_};
    if (wish_ != wish::cancel) wish_ = what;
    if (is_final(state_)) return;
  }
  tell_queue();
}

job_core::wish job_core::wanted() const {
  std::lock_guard const lock{mutex_};
  return wish_;
}

job_state job_core::state() const {
  std::lock_guard const lock{mutex_};
  return state_;
}

job_state job_core::move_to(job_state next) {
  job_state now;
  {
    std::lock_guard const lock{mutex_};
    if (is_final(state_)) return state_;
    if (next == job_state::queued && leaves_) next = job_state::evicted;
    if (next == job_state::queued && wish_ == wish::cancel) next = job_state::cancelled;
    if (next == job_state::queued && wish_ == wish::pause) next = job_state::paused;
    if (is_final(next)) leaves_ = false;
    if (next == job_state::paused && state_ != next) ++touches_;
    if (next == job_state::placed && state_ != next) ++placings_;
    now = state_ = next;
  }
  changed_.notify_all();
  return now;
}

bool job_core::ask_to_leave() {
  {
    std::lock_guard const lock{mutex_};
    if (is_final(state_) || holds_ != 0 || wish_ != wish::run) return false;
    leaves_ = true;
  }
  tell_queue();
  return true;
}

void job_core::is_back() {
  {
    std::lock_guard const lock{mutex_};
    leaves_ = false;
  }
  changed_.notify_all();
  tell_queue();
}

bool job_core::is_asked_to_leave() const {
  std::lock_guard const lock{mutex_};
  return leaves_;
}

bool job_core::hold(std::chrono::nanoseconds at_most) {
  std::unique_lock lock{mutex_};
  bool const has_memory = description_.memory != nullptr;
  if (has_memory && description_.memory->is_lost()) return false;
  if (!wait_until(lock, at_most, [this] { return !leaves_; })) return false;
  if (has_memory && description_.memory->is_lost()) return false;
  ++holds_;
  ++touches_;
  return true;
}

void job_core::let_go() noexcept {
  std::lock_guard const lock{mutex_};
  if (holds_ != 0) --holds_;
}

std::uint64_t job_core::touches() const {
  std::lock_guard const lock{mutex_};
  return touches_;
}

std::uint64_t job_core::placings() const {
  std::lock_guard const lock{mutex_};
  return placings_;
}

bool job_core::wait(std::chrono::nanoseconds at_most) {
  std::unique_lock lock{mutex_};
  return wait_until(lock, at_most, [this] { return is_final(state_); });
}

template <class So>
bool job_core::wait_until(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds at_most, So so) {
  auto const deadline = deadline_after(at_most);
  for (;;) {
    // In pieces of a day: some standard libraries add the waiting time to another clock, and that sum could overflow.
    auto const piece = std::min<std::chrono::nanoseconds>(left_until(deadline), std::chrono::hours{24});
    if (changed_.wait_for(lock, piece, so)) return true;
    if (left_until(deadline).count() == 0) return false;
  }
}

/// Call under the lock.
progress_line job_core::line() const noexcept {
  if (seat_ == nullptr) {
    cursor const& now = image_.words;
    return {now.phases, now.round, progress_word{now.round, now.step, tagged_state{now.state}.state()}.word(), now.why};
  }
  progress_line const* const told = seat_->line();
  // What the word says was done before it; the whole round next to it may be older or newer.
  std::uint64_t const where = executor_->load_mapped(&told->where);
  return {executor_->load_mapped(&told->phases), executor_->load_mapped(&told->round), where, 0};
}

phase_state job_core::reached() const noexcept {
  std::lock_guard const lock{mutex_};
  return progress_word{line().where}.state();
}

std::uint64_t job_core::rounds() const noexcept {
  std::lock_guard const lock{mutex_};
  progress_line const now = line();
  return progress_word{now.where}.round(now.round);
}

job_progress job_core::progress() const {
  std::lock_guard const lock{mutex_};
  progress_line const now = line();
  progress_word const at{now.where};
  return {.state = state_,
          .phases = now.phases,
          .at = {at.round(now.round), at.step()},
          .items = image_.words.items + image_.words.done,
          .why = failure{image_.words.why}};
}

job_image job_core::image() const {
  std::lock_guard const lock{mutex_};
  return image_;
}

void job_core::feed(std::uint64_t fed) {
  std::shared_ptr<job_seat> writes_to;  // unchanged until the copy has ended, also if the job leaves meanwhile
  {
    std::lock_guard const lock{mutex_};
    fed_ = fed;
    if (seat_ == nullptr) return;
    if (feeds_itself_) writes_to = seat_;
  }
  if (writes_to == nullptr) return tell_queue();  // for catch_up_fed
  executor_->publish(&writes_to->at()->fed, fed);
}

void job_core::require_no_seat() const {
  if (seat_ != nullptr)
    throw usage_error{"job '" + description_.name + "' is in a place: pause it, and wait until it is paused"};
}

std::vector<std::uint64_t> job_core::save() const {
  std::lock_guard const lock{mutex_};
  require_no_seat();
  std::vector<std::uint64_t> words = words_of(image_, description_.name);
  words[8] = fed_;
  return words;
}

void job_core::restore(std::span<std::uint64_t const> saved) {
  std::lock_guard const lock{mutex_};
  require_no_seat();
  read_words(saved, kernel().shape.steps, capacity_, description_.name, image_);
  fed_ = image_.words.fed;
}

void job_core::take(std::shared_ptr<job_seat> seat, copy_lane& lane) {
  job_image now;
  {
    std::lock_guard const lock{mutex_};
    now = image_;
    now.words.fed = written_fed_ = fed_;
  }
  seat->write(lane, now);
  std::lock_guard const lock{mutex_};
  seat_ = std::move(seat);
}

bool job_core::catch_up_fed(copy_lane& lane) {
  std::uint64_t fed = 0;
  {
    std::lock_guard const lock{mutex_};
    feeds_itself_ = feeds_itself_ || written_fed_ == fed_;
    if (feeds_itself_) return true;
    fed = written_fed_ = fed_;
  }
  seat_->write_fed(lane, fed);
  return false;
}

void job_core::begin_to_leave(copy_lane& lane) {
  {
    std::lock_guard const lock{mutex_};
    feeds_itself_ = false;
  }
  seat_->read_words(lane);
}

bool job_core::leave(copy_lane& lane) {
  if (!ring_is_read_ && seat_->read_ring(lane)) {
    ring_is_read_ = true;
    return false;
  }
  ring_is_read_ = false;
  job_image image = seat_->taken();
  std::lock_guard const lock{mutex_};
  image_ = std::move(image);
  seat_.reset();
  return true;
}

void job_core::abandon_seat() noexcept {
  std::lock_guard const lock{mutex_};
  feeds_itself_ = false;
  seat_.reset();
}

}  // namespace detail
}  // namespace lull
