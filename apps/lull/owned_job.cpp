// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/owned_job.hpp>

#include <exception>
#include <utility>
#include <vector>

#include <lull/host/detail/job_record.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto max_goodbye = 10s;

/// Never freed, and reachable, so that a leak checker knows it for what it is.
void leave_behind(std::unique_ptr<task_owner> owner, std::unique_ptr<feeder_thread> served) {
  using left = std::pair<std::unique_ptr<task_owner>, std::unique_ptr<feeder_thread>>;
  static std::mutex guard;
  static auto* const all = new std::vector<left>;
  if (served) served->leave_alone();
  std::lock_guard const lock{guard};
  all->emplace_back(std::move(owner), std::move(served));
}

}  // namespace

owned_job::owned_job(runtime& side, std::unique_ptr<task_owner> owner, std::string name, int priority,
                     checkpoints* saves)
    : side_(side), owner_(std::move(owner)), name_(std::move(name)), priority_(priority), saves_(saves) {}

owned_job::~owned_job() {
  if (!handle_) return;
  handle_.cancel();
  if (!handle_.wait(max_goodbye)) leave_behind(std::move(owner_), std::move(served_));  // a block may be inside
}

job owned_job::now() const {
  std::lock_guard const lock{mutex_};
  return handle_;
}

void owned_job::submit(from begin) {
  job_description what = owner_->describe();
  what.name = name_;
  what.priority = priority_;
  bool const restores = begin == from::where_saved && saves_ != nullptr;
  what.is_paused = restores;
  job made = side_.submit(std::move(what));
  std::uint64_t brought = 0;
  {
    std::lock_guard const lock{mutex_};
    if (handle_) before_ += handle_.progress().items - brought_;
    handle_ = made;
    brought_ = 0;
  }
  pauses_ = false;
  if (restores) {
    detail::job_record& state = detail::state_of(made);
    saves_->begin(state);
    brought = made.progress().items;
    {
      std::lock_guard const lock{mutex_};
      brought_ = brought;
    }
    made.resume();
  }
  served_ = std::make_unique<feeder_thread>(*owner_, side_.machine(), std::move(made));
}

void owned_job::look_after() {
  job handle = now();
  // While it is seen as paused after a resume, the runtime has not looked yet, and the word does not mean the next one.
  bool const is_paused = handle.progress().state == job_state::paused;
  if (!pauses_) {
    if (is_paused || saves_ == nullptr || !saves_->wants_save()) return;
    handle.pause();
    pauses_ = true;
  } else if (is_paused) {
    save();
    handle.resume();
    pauses_ = false;
  }
}

void owned_job::finish_serving() { served_->finish(); }

void owned_job::save() {
  if (saves_ == nullptr) return;
  try {
    saves_->save(detail::state_of(now()));
  } catch (std::exception const& problem) {
    save_problem_ = problem.what();
    saves_ = nullptr;
  }
}

std::uint64_t owned_job::items() const {
  std::lock_guard const lock{mutex_};
  return before_ + (handle_ ? handle_.progress().items - brought_ : 0);
}

}  // namespace lull
