// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/job_saving.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 5ms;       // how often to check whether a save is due, or the job over
constexpr auto until_it_left = 200us;  // a pause takes the time of a chunk

}  // namespace

job_saving::job_saving(std::shared_ptr<job_saver> saves, executor& executor, std::string name,
                       std::shared_ptr<job_memory> memory, log_function log)
    : saves_(std::move(saves)),
      executor_(executor),
      name_(std::move(name)),
      memory_(std::move(memory)),
      log_(std::move(log)) {}

job_saving::~job_saving() {
  if (!thread_.joinable()) return;
  handle_.cancel();
  thread_.join();
}

void job_saving::follow(job handle) {
  std::lock_guard const lock{mutex_};
  handle_ = std::move(handle);
  owner_pauses_ = saves_now_ = false;
}

void job_saving::pause() {
  std::lock_guard const lock{mutex_};
  owner_pauses_ = true;
  handle_.pause();
}

void job_saving::resume() {
  std::lock_guard const lock{mutex_};
  owner_pauses_ = false;
  if (!saves_now_) handle_.resume();
}

void job_saving::look_after() {
  if (!ask_for_pause() || handle_.progress().state != job_state::paused) return;
  save();
  go_on();
}

void job_saving::save_at_end() {
  if (handle_.progress().state == job_state::failed) return;
  if (memory_ == nullptr || !memory_->is_lost()) {
    save_now(moment::at_the_end);
  } else {
    say("has ended while its memory was away: what it did since it was saved last is lost");
  }
}

void job_saving::start_thread() {
  has_thread_ = true;
  thread_ = std::thread{[this] { work(); }};
}

void job_saving::forget() {
  if (thread_.joinable()) thread_.join();
  detach();
  std::exchange(saves_, nullptr)->forget();
}

std::string job_saving::problem() const {
  std::lock_guard const lock{mutex_};
  return problem_;
}

void job_saving::work() {
  for (auto rest = std::chrono::nanoseconds{look_again}; !handle_.wait(rest);) {
    look_after();
    std::lock_guard const lock{mutex_};
    rest = saves_now_ ? until_it_left : look_again;
  }
  save_at_end();
}

/// Returns whether the job is paused, or about to be.
bool job_saving::ask_for_pause() {
  std::lock_guard const lock{mutex_};
  if (saves_now_ || gives_up_ || !saves_->wants_save()) return saves_now_;
  handle_.pause();
  return saves_now_ = true;
}

void job_saving::go_on() {
  std::lock_guard const lock{mutex_};
  saves_now_ = false;
  if (!owner_pauses_) handle_.resume();
}

void job_saving::save_now(moment when) {
  if (gives_up_) return;
  std::string why;
  try {
    device_guard const here{executor_};
    std::optional<patient_copies> however_late;  // no other thread waits for this one
    if (has_thread_) however_late.emplace();
    saves_->save(detail::state_of(handle_));
  } catch (std::exception const& problem) {
    saves_->put_off();
    why = problem.what();
  }
  bool was_known = false;
  {
    std::lock_guard const lock{mutex_};
    was_known = !std::exchange(problem_, why).empty();
  }
  if (why.empty()) return;
  if (when == moment::at_the_end) {
    say("is not saved at its end: " + why);
  } else if (!was_known) {
    say("is not saved, which is tried again: " + why);
  }
}

void job_saving::say(std::string const& what) {
  if (log_ && !gives_up_) log_("job '" + name_ + "' " + what);
}

}  // namespace lull
