// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cli/side_jobs.hpp>

#include <algorithm>
#include <chrono>
#include <exception>

#include <lull/host/cli/replay.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 200us;
constexpr auto long_bubble = 25ms;  // of those that a job is run to its end in
constexpr auto longest_goodbye = 10s;

}  // namespace

side_jobs::side_jobs(runtime& side, std::vector<std::unique_ptr<task_owner>> owners, std::string name, results_kept kept)
    : side_(side), name_(std::move(name)), kept_(kept), same_(side.machine()) {
  for (auto& owner : owners) {
    jobs_.push_back({std::move(owner), {}, {}, false});
    submit(jobs_.back());
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

void side_jobs::submit(running& one) {
  one.handle = side_.submit(one.owner->describe());
  one.served = std::make_unique<serving>(*one.owner, side_.machine(), one.handle);
  one.over = false;
}

bool side_jobs::is_over(job const& handle) { return handle.wait(0ns); }

void side_jobs::note(running& one) {
  one.over = true;
  one.served->finish();  // what is done is taken, too
  job_progress const reached = one.handle.progress();
  if (reached.state == job_state::failed) failed_ = true;
  if (reached.state == job_state::cancelled && reached.items == 0) return;  // a successor that never had its turn
  noted made{{name_, name_of(reached.state), reached.phases, std::nullopt, reached.items, std::nullopt}};
  made.finished = reached.state == job_state::finished;
  if (made.finished && kept_ == results_kept::all) made.like_first = same_.holds_for(*one.owner);
  if (made.finished) ++ended_;
  if (noted_.size() == most_results) noted_.erase(noted_.begin());
  noted_.push_back(std::move(made));
}

void side_jobs::serve() {
  try {
    side_.machine().arrive();
    while (!ending_ && !failed_) {
      auto const done = std::find_if(jobs_.begin(), jobs_.end(), [](running const& one) { return is_over(one.handle); });
      if (done == jobs_.end()) {
        std::this_thread::sleep_for(look_again);
        continue;
      }
      note(*done);
      if (done->handle.progress().state != job_state::finished || ending_) return;
      done->owner->reset();
      submit(*done);
      std::rotate(done, done + 1, jobs_.end());
    }
  } catch (...) {
    problem_ = std::current_exception();
    failed_ = true;
  }
}

task_owner* side_jobs::finish(stage_trainer& on, std::function<bool()> const& stop) {
  ending_ = true;
  thread_.join();
  if (problem_ != nullptr) std::rethrow_exception(problem_);
  for (running& one : jobs_) {
    if (!one.over && &one != &jobs_.front()) one.handle.cancel();
  }
  running& first = jobs_.front();
  stage_plan const bubble{{}, {{gap_site::tail, 0, 0ns, long_bubble}}, long_bubble};
  while (!is_over(first.handle) && !stop() && side_.mode() == runtime_mode::on) {
    std::optional<std::uint64_t> const chunks = chunks_of(replay(on, bubble, 1, &side_, stop).bubbles);
    last_chunks_ = last_chunks_ && chunks ? std::optional{*last_chunks_ + *chunks} : std::nullopt;
  }
  if (!is_over(first.handle)) first.handle.cancel();
  task_owner* finished = nullptr;
  for (running& one : jobs_) {
    one.handle.wait(longest_goodbye);
    if (!one.over) note(one);
    if (one.handle.progress().state == job_state::finished && finished == nullptr) finished = one.owner.get();
  }
  return finished;
}

verification side_jobs::verify(task_owner& finished) {
  same_result::verdict const judged = same_.verify(finished);
  for (noted& each : noted_) {
    if (each.finished) each.result.verified = judged.first && each.like_first;
  }
  return judged.all;
}

void side_jobs::share_chunks(std::optional<std::uint64_t> in_bubbles, std::optional<std::uint64_t> of_one) {
  std::uint64_t const ended = ended_;
  auto const unfinished = std::count_if(noted_.begin(), noted_.end(), [](noted const& each) { return !each.finished; });
  std::optional<std::uint64_t> all;
  if (in_bubbles && last_chunks_) all = *in_bubbles + *last_chunks_;
  if (all && unfinished == 0 && ended != 0) of_one = *all / ended;
  std::optional<std::uint64_t> of_rest;  // of the one that did not finish
  if (all && unfinished == 1 && (ended == 0 || of_one)) of_rest = *all - std::min(*all, ended * of_one.value_or(0));
  for (noted& each : noted_) each.result.chunks = each.finished ? of_one : of_rest;
}

std::vector<job_result> side_jobs::results() const {
  std::vector<job_result> found;
  for (noted const& each : noted_) found.push_back(each.result);
  return found;
}

}  // namespace lull
