// SPDX-License-Identifier: Apache-2.0
#include <lull/host/solo/saving_thread.hpp>

#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include <lull/host/detail/job_record.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 5ms;       // whether it is time to save; so often, too, whether the job is over
constexpr auto until_it_left = 200us;  // a pause takes the time of a chunk

}  // namespace

saving_thread::saving_thread(std::unique_ptr<checkpoints> saves, executor& machine, job handle, log_line log)
    : saves_(std::move(saves)), machine_(machine), handle_(std::move(handle)), log_(std::move(log)) {
  detail::job_record& record = detail::state_of(handle_);
  saves_->begin(record);
  thread_ = std::thread{[this] { work(); }};
  handle_.resume();
}

saving_thread::~saving_thread() {
  if (!thread_.joinable()) return;
  handle_.cancel();
  thread_.join();
}

void saving_thread::pause() {
  std::lock_guard const lock{mutex_};
  owner_pauses_ = true;
  handle_.pause();
}

void saving_thread::resume() {
  std::lock_guard const lock{mutex_};
  owner_pauses_ = false;
  if (!saves_now_) handle_.resume();
}

void saving_thread::forget() {
  if (thread_.joinable()) thread_.join();
  saves_->forget();
}

void saving_thread::leave_alone() {
  std::lock_guard const lock{mutex_};
  gives_up_ = true;
}

void saving_thread::work() {
  while (!handle_.wait(look_again)) {
    if (save_is_due()) save_in_pause();
  }
  job_description const& what = detail::state_of(handle_).description();
  if (handle_.progress().state == job_state::failed) return;
  if (what.memory == nullptr || !what.memory->is_lost()) {
    save(moment::at_the_end);
  } else {
    say("has ended while its memory was away: what it did since it was saved last is lost");
  }
}

bool saving_thread::save_is_due() {
  std::lock_guard const lock{mutex_};
  saves_now_ = !gives_up_ && saves_->wants_save();
  if (saves_now_) handle_.pause();
  return saves_now_;
}

void saving_thread::save_in_pause() {
  while (handle_.progress().state != job_state::paused && !handle_.wait(until_it_left)) {
  }
  bool const is_over = handle_.wait(0ns);  // then it is saved as such
  if (!is_over) save(moment::meanwhile);
  std::lock_guard const lock{mutex_};
  saves_now_ = false;
  if (!owner_pauses_) handle_.resume();
}

void saving_thread::save(moment when) {
  if (is_left_alone()) return;
  try {
    device_guard const here{machine_};
    patient_copies const however_late;
    saves_->save(detail::state_of(handle_));
    fails_ = false;
  } catch (std::exception const& problem) {
    saves_->put_off();
    bool const is_known = std::exchange(fails_, true);
    if (when == moment::at_the_end) {
      say(std::string{"is not saved at its end: "} + problem.what());
    } else if (!is_known) {
      say(std::string{"is not saved, which is tried again: "} + problem.what());
    }
  }
}

void saving_thread::say(std::string const& what) {
  if (log_ && !is_left_alone()) log_("job '" + detail::state_of(handle_).description().name + "' " + what);
}

bool saving_thread::is_left_alone() {
  std::lock_guard const lock{mutex_};
  return gives_up_;
}

}  // namespace lull
