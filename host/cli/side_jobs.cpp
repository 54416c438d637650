// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cli/side_jobs.hpp>

#include <algorithm>
#include <chrono>
#include <exception>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 200us;
constexpr auto long_bubble = 25ms;  // of those that a job is run to its end in
constexpr auto longest_goodbye = 10s;

}  // namespace

side_jobs::side_jobs(runtime& side, std::vector<std::unique_ptr<task_owner>> owners, std::string name)
    : side_(side), name_(std::move(name)) {
  for (auto& owner : owners) {
    job handle = side_.submit(owner->describe());
    jobs_.push_back({std::move(owner), std::move(handle), false});
  }
  thread_ = std::thread{[this] { serve(); }};
}

side_jobs::~side_jobs() {
  ending_ = true;
  if (thread_.joinable()) thread_.join();
  for (running& one : jobs_) {
    if (!one.over) one.handle.cancel();
  }
  for (running& one : jobs_) one.handle.wait(longest_goodbye);
}

bool side_jobs::is_over(job const& handle) { return handle.wait(0ns); }

void side_jobs::note(running& one) {
  one.over = true;
  job_progress const reached = one.handle.progress();
  if (reached.state == job_state::finished) ++ended_;
  if (reached.state == job_state::failed) failed_ = true;
  if (reached.state == job_state::cancelled && reached.items == 0) return;  // a successor that never had its turn
  if (results_.size() == most_results) results_.erase(results_.begin());
  results_.push_back({name_, name_of(reached.state), reached.phases, std::nullopt, reached.items, std::nullopt});
  one.noted = ++noted_;
}

void side_jobs::serve() {
  try {
    side_.machine().adopt_thread();
    while (!ending_ && !failed_) {
      auto const done = std::find_if(jobs_.begin(), jobs_.end(), [](running const& one) { return is_over(one.handle); });
      if (done == jobs_.end()) {
        std::this_thread::sleep_for(look_again);
        continue;
      }
      note(*done);
      if (done->handle.progress().state != job_state::finished || ending_) return;
      done->owner->reset();
      done->handle = side_.submit(done->owner->describe());
      done->over = false;
      done->noted = 0;
      std::rotate(done, done + 1, jobs_.end());
    }
  } catch (...) {
    problem_ = std::current_exception();
    failed_ = true;
  }
}

finished_job side_jobs::finish(stage_trainer& on, std::function<bool()> const& stop) {
  ending_ = true;
  thread_.join();
  if (problem_ != nullptr) std::rethrow_exception(problem_);
  for (running& one : jobs_) {
    if (!one.over && &one != &jobs_.front()) one.handle.cancel();
  }
  running& first = jobs_.front();
  while (!is_over(first.handle) && !stop() && side_.mode() == runtime_mode::on) {
    on.begin_replay(1, 1);
    bubble_id const id = side_.open(on.stream(), site{"to the end"});
    on.wait(long_bubble, wait_arrival::before_worker);
    side_.close(id, on.stream());
    on.end_replay();
    side_.take_bubbles();
  }
  if (!is_over(first.handle)) first.handle.cancel();
  running* finished = nullptr;
  for (running& one : jobs_) {
    one.handle.wait(longest_goodbye);
    if (!one.over) note(one);
    if (one.handle.progress().state == job_state::finished && finished == nullptr) finished = &one;
  }
  if (finished == nullptr) return {};
  return {finished->owner.get(), static_cast<std::size_t>(finished->noted - (noted_ - results_.size()) - 1)};
}

}  // namespace lull
