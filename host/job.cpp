// SPDX-License-Identifier: Apache-2.0
#include <lull/host/job.hpp>

#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/submitted.hpp>

namespace lull {

namespace {

bool is_final(job_state state) {
  return state == job_state::finished || state == job_state::failed || state == job_state::cancelled;
}

detail::submitted& checked(std::shared_ptr<detail::submitted> const& state) {
  if (state == nullptr) throw usage_error{"this job handle is empty: take one from runtime::submit"};
  return *state;
}

}  // namespace

char const* name_of(job_state state) noexcept {
  switch (state) {
    case job_state::queued: return "queued";
    case job_state::placed: return "placed";
    case job_state::paused: return "paused";
    case job_state::finished: return "finished";
    case job_state::failed: return "failed";
    case job_state::cancelled: return "cancelled";
  }
  return "unknown";
}

job_progress job::progress() const { return checked(state_).progress(); }
void job::pause() { checked(state_).want(detail::submitted::wish::pause); }
void job::resume() { checked(state_).want(detail::submitted::wish::run); }
void job::cancel() { checked(state_).want(detail::submitted::wish::cancel); }
std::uint64_t job::rounds() const { return checked(state_).rounds(); }
void job::feed(std::uint64_t fed) { checked(state_).feed(fed); }
bool job::wait(std::chrono::nanoseconds at_most) const { return checked(state_).wait(at_most); }

namespace detail {

job handle_of(std::shared_ptr<submitted> state) { return job{std::move(state)}; }

submitted::submitted(std::shared_ptr<executor> machine, job_description description, std::uint64_t ring_capacity)
    : machine_(std::move(machine)), description_(std::move(description)) {
  if (description_.grain == 0) throw usage_error{"job '" + description_.name + "': a grain of no items; ask for 1 or more"};
  cursor_ = static_cast<cursor*>(machine_->allocate(sizeof(cursor)));
  cells_ = static_cast<ring_cell*>(machine_->allocate(ring_capacity * sizeof(ring_cell)));
  line_ = machine_->map(sizeof(progress_line));
  cursor words{};
  words.grain = description_.grain;
  words.cells = cells_;
  words.capacity = ring_capacity;
  words.progress = static_cast<progress_line*>(line_.device);
  machine_->write(cursor_, &words, sizeof words);
}

submitted::~submitted() {
  machine_->unmap(line_, sizeof(progress_line));
  machine_->release(cells_);
  machine_->release(cursor_);
}

worker_kernel const& submitted::kernel() const noexcept {
  return machine_->kind() == executor_kind::cuda ? description_.type.cuda : description_.type.threads;
}

void submitted::want(wish what) noexcept {
  wish before = wish_.load();
  while (before != wish::cancel && !wish_.compare_exchange_weak(before, what)) {
  }
}

job_state submitted::state() const {
  std::lock_guard const lock{mutex_};
  return state_;
}

void submitted::set_state(job_state state) {
  {
    std::lock_guard const lock{mutex_};
    state_ = state;
  }
  changed_.notify_all();
}

bool submitted::wait(std::chrono::nanoseconds at_most) {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, at_most, [this] { return is_final(state_); });
}

phase_state submitted::reached() const noexcept {
  auto const* const line = static_cast<progress_line const*>(line_.host);
  // step and state share an aligned 64-bit word
  return phase_state{static_cast<std::uint32_t>(machine_->load_mapped(&line->step) >> 32 & 0xff)};
}

std::uint64_t submitted::rounds() const noexcept {
  auto const* const line = static_cast<progress_line const*>(line_.host);
  constexpr std::uint64_t mask = 0xffffff;
  // The round beside the state was written after what it says is done; the whole word before it, and may be newer.
  std::uint64_t const low = machine_->load_mapped(&line->step) >> 40;
  std::uint64_t const round = machine_->load_mapped(&line->round);
  return round - ((round - low) & mask);
}

void submitted::feed(std::uint64_t fed) { machine_->write(&cursor_->fed, &fed, sizeof fed); }

job_progress submitted::progress() const {
  auto const* const line = static_cast<progress_line const*>(line_.host);
  job_progress now;
  {
    std::lock_guard const lock{mutex_};
    now = totals_;
    now.state = state_;
  }
  now.phases = machine_->load_mapped(&line->phases);
  now.at.round = machine_->load_mapped(&line->round);
  now.at.step = static_cast<std::uint32_t>(machine_->load_mapped(&line->step));
  return now;
}

void submitted::read_totals() {
  cursor words{};
  machine_->read(&words, cursor_, sizeof words);
  std::lock_guard const lock{mutex_};
  totals_.items = words.items + words.done;
  totals_.why = failure{words.why};
}

}  // namespace detail
}  // namespace lull
