// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/hosted_job.hpp>

#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>
#include <vector>

#include <lull/host/error.hpp>

namespace lull {
namespace {

/// Never freed, and reachable, so that a leak checker does not report it.
void leak(std::shared_ptr<task_owner> owner, std::unique_ptr<job_saving> saving,
          std::unique_ptr<feeder_thread> served) {
  using left = std::tuple<std::shared_ptr<task_owner>, std::unique_ptr<job_saving>, std::unique_ptr<feeder_thread>>;
  static std::mutex guard;
  static auto* const all = new std::vector<left>;
  if (saving) saving->detach();
  if (served) served->detach();
  std::lock_guard const lock{guard};
  all->emplace_back(std::move(owner), std::move(saving), std::move(served));
}

}  // namespace

hosted_job::hosted_job(executor& executor, hosted_task task, log_function log)
    : executor_(executor),
      what_(std::move(task.job)),
      another_(std::move(task.another)),
      owner_(std::move(task.owner)) {
  if (task.saves != nullptr)
    saving_ = std::make_unique<job_saving>(std::move(task.saves), executor_, what_.name, what_.memory, std::move(log));
}

hosted_job::~hosted_job() { end(std::chrono::steady_clock::now() + max_end_wait); }

void hosted_job::end(std::chrono::steady_clock::time_point deadline) noexcept {
  if (!handle_ || std::exchange(ended_, true)) return;
  handle_.cancel();
  auto const left = deadline - std::chrono::steady_clock::now();
  if (!handle_.wait(std::max<std::chrono::nanoseconds>(left, std::chrono::nanoseconds{0})))
    leak(std::move(owner_), std::move(saving_), std::move(served_));  // a block may be inside
}

job hosted_job::current_job() const {
  std::lock_guard const lock{mutex_};
  return handle_;
}

void hosted_job::submit(submit_function const& to, from begin) {
  job_description what = what_;
  bool const takes_up = begin == from::where_saved && saving_ != nullptr;
  what.is_paused = what.is_paused || takes_up;
  job made = to(std::move(what));
  {
    std::lock_guard const lock{mutex_};
    if (handle_) before_ += handle_.progress().items - brought_;
    handle_ = made;
    brought_ = 0;
  }
  if (saving_ != nullptr) saving_->follow(made);
  if (takes_up) {
    saving_->take_up(made);
    std::uint64_t const brought = made.progress().items;
    {
      std::lock_guard const lock{mutex_};
      brought_ = brought;
    }
    if (!what_.is_paused) made.resume();
  }
  if (owner_ != nullptr) served_ = std::make_unique<feeder_thread>(*owner_, executor_, std::move(made));
}

std::uint64_t hosted_job::items() const {
  std::lock_guard const lock{mutex_};
  return before_ + (handle_ ? handle_.progress().items - brought_ : 0);
}

void hosted_job::finish_serving() {
  if (std::unique_ptr<feeder_thread> const served = std::move(served_)) served->finish();
}

std::string const& hosted_job::result() {
  std::lock_guard const lock{results_};
  if (lines_) return *lines_;
  if (owner_ == nullptr) throw usage_error{"job '" + what_.name + "' has no owner, and so no result"};
  finish_serving();
  device_guard const here{executor_};
  std::string all;
  for (std::string const& line : write_result(*owner_)) all += line + '\n';
  lines_ = std::move(all);
  if (saving_ != nullptr) saving_->forget();
  give_back();
  return *lines_;
}

verification const* hosted_job::verify() {
  std::lock_guard const lock{results_};
  if (!verdict_ && owner_ == nullptr && kept_ == nullptr) return nullptr;
  if (!verdict_) {
    finish_serving();
    device_guard const here{executor_};
    verdict_ = owner_ != nullptr ? owner_->verify() : kept_->verify(executor_);
    kept_.reset();
  }
  return &*verdict_;
}

/// Keeps the owner of a task whose results are not arrays: no other could verify them later. Call under the lock.
void hosted_job::give_back() {
  try {
    if (!verdict_ && owner_->arrays().empty()) {
      verdict_ = owner_->verify();
    } else if (!verdict_ && another_) {
      kept_ = std::make_unique<kept_result>(another_, *owner_, executor_);
    }
  } catch (std::exception const&) {  // `verify` reports it
  }
  owner_.reset();
}

}  // namespace lull
