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
  record.read_totals();
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
  owner_pauses_ = pause_is_saved_ = false;
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
  bool const is_there = what.memory == nullptr || !what.memory->is_lost();
  if (handle_.progress().state != job_state::failed && is_there) save();
}

bool saving_thread::save_is_due() {
  std::lock_guard const lock{mutex_};
  saves_now_ = !gives_up_ && !pause_is_saved_ && saves_->wants_save();
  if (saves_now_) handle_.pause();
  return saves_now_;
}

void saving_thread::save_in_pause() {
  while (handle_.progress().state != job_state::paused && !handle_.wait(until_it_left)) {
  }
  bool const is_over = handle_.wait(0ns);  // then it is saved as such
  if (!is_over) save();
  std::lock_guard const lock{mutex_};
  saves_now_ = false;
  pause_is_saved_ = owner_pauses_;
  if (!owner_pauses_) handle_.resume();
}

void saving_thread::save() {
  {
    std::lock_guard const lock{mutex_};
    if (gives_up_) return;
  }
  try {
    machine_.adopt_thread();
    saves_->save(detail::state_of(handle_));
  } catch (std::exception const& problem) {
    std::string const name = detail::state_of(handle_).description().name;
    {
      std::lock_guard const lock{mutex_};
      gives_up_ = true;
    }
    if (log_) log_("job '" + name + "' is no longer saved: " + problem.what());
  }
}

}  // namespace lull
