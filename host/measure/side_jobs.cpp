// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/side_jobs.hpp>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/measure/replay.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 200us;
constexpr std::chrono::nanoseconds long_bubble = 25ms;  // of those that jobs are run to their end in
constexpr std::chrono::nanoseconds max_bubble = 1s;     // where chunks are longer than that

}  // namespace

side_jobs::side_jobs(runtime& side, std::vector<side_task_asked> tasks, results_kept kept, log_line log)
    : side_(side), kept_(kept), log_(std::move(log)), left_(tasks.size()) {
  submit_all(std::move(tasks));
  serving_ = std::async(std::launch::async, [this] { serve(); });
}

/// The destructor of `serving_` waits for its thread.
side_jobs::~side_jobs() { ending_ = stopping_ = true; }

void side_jobs::submit_all(std::vector<side_task_asked> tasks) {
  for (side_task_asked& each : tasks) {
    auto made = std::make_unique<task>(std::move(each.name), executor_of(side_));
    made->saves = std::move(each.saves);
    made->max_rounds = each.owners.front()->max_rounds();
    for (auto& owner : each.owners) {
      job_description what = owner->describe();
      what.name = made->name;
      what.priority = each.priority;
      made->jobs.push_back({std::make_unique<hosted_job>(
          executor_of(side_), hosted_task{std::move(what), std::move(owner), made->saves}, log_)});
    }
    tasks_.push_back(std::move(made));
  }
  for (auto& each : tasks_) {
    for (task::one& one : each->jobs) submit(one, hosted_job::from::where_saved);
  }
}

void side_jobs::submit(task::one& which, hosted_job::from begin) {
  which.job->submit([this](job_description what) { return side_.submit(std::move(what)); }, begin);
  which.over = false;
  which.order = submitted_++;
}

void side_jobs::serve() {
  try {
    executor_of(side_).adopt_thread();
    for (auto give_up = std::chrono::steady_clock::now() + hosted_job::max_end_wait;;
         std::this_thread::sleep_for(look_again)) {
      bool const ending = ending_;
      bool const stopping = stopping_;
      std::size_t left = 0;
      for (std::size_t t = 0; t < tasks_.size(); ++t) {
        for (task::one& one : tasks_[t]->jobs) left += look_after(t, one, ending, stopping) ? 1 : 0;
      }
      left_ = left;
      if (ending && left == 0) return;
      auto const now = std::chrono::steady_clock::now();
      if (!stopping || reading_.valid()) give_up = now + hosted_job::max_end_wait;
      if (now >= give_up)
        throw limit_error{
            "a job did not end within 10 s of being cancelled: a chunk takes longer than that, or has no end; a "
            "smaller grain makes it shorter"};
    }
  } catch (...) {
    failed_ = true;
    left_ = 0;
    throw;
  }
}

/// True: it goes on, or another in its place.
bool side_jobs::look_after(std::size_t index, task::one& one, bool ending, bool stopping) {
  task& of = *tasks_[index];
  if (one.over && !awaits_reading(one)) return false;
  try {
    if (one.over || one.job->over()) {
      if (!one.over) note(index, one);
      if (!read_results(of, one, ending)) return true;
      if (!ending && !of.closed) {
        one.job->owner().reset();
        submit(one, hosted_job::from::the_start);
      } else if (one.job->progress().state != job_state::off) {
        one.job->save_at_end();  // what has come to its end, too: its results may yet have to be written
      }
    } else if (stopping || of.closed || (ending && is_spare(of, one))) {
      one.job->cancel();
    } else {
      one.job->look_after();
    }
  } catch (std::exception const& problem) {
    complain(of, problem.what());
  }
  return !one.over || awaits_reading(one);
}

/// Of the first job of a task that finishes: all are the same work, and each copy from the machine disturbs the
/// trainer. They are written where another follows: what has finished would be lost if that one were stopped. One after
/// the other, for each takes memory. True: that is over, or there is nothing to read. Throws what went wrong.
bool side_jobs::read_results(task& of, task::one& one, bool ending) {
  if (!reading_.valid() && std::exchange(one.is_to_be_read, false)) {
    reading_ = std::async(std::launch::async, [this, &of, &owner = one.job->owner(), follows = !ending && !of.closed] {
      executor_of(side_).adopt_thread();
      if (follows) of.written = write_result(owner);
      of.figures = owner.figures();  // which may come of what was read for writing
    });
    read_ = &one;
  }
  if (read_ != &one) return !one.is_to_be_read;
  if (reading_.wait_for(0s) != std::future_status::ready) return false;
  read_ = nullptr;
  reading_.get();
  return true;
}

/// A task that failed does not end the others.
void side_jobs::complain(task& of, std::string const& problem) {
  of.closed = true;
  failed_ = true;
  if (log_) log_("job '" + of.name + "' failed: " + problem);
}

void side_jobs::note(std::size_t index, task::one& one) {
  task& of = *tasks_[index];
  one.over = true;
  try {
    one.job->finish_serving();  // what is done is taken, too
  } catch (std::exception const& problem) {
    complain(of, problem.what());
  }
  job_progress const reached = one.job->progress();
  if (reached.state == job_state::failed) {
    complain(of, reached.why == failure::too_many_items ? "a phase has more items than a cursor can count"
                                                        : "the task reported a failure");
  }
  if (reached.state == job_state::cancelled && reached.items == 0) return;  // a successor that never had its turn
  if (reached.state == job_state::off) of.closed = true;                    // and so would its successor be
  noted made{{of.name, name_of(reached.state), reached.phases, std::nullopt, reached.items, std::nullopt, std::nullopt},
             index};
  made.finished = reached.state == job_state::finished;
  made.result.notes = one.job->owner().notes();
  if (made.finished) {
    std::uint64_t const failures = one.job->owner().failures();
    made.result.failures = failures;
    if (failures != 0) complain(of, named_failures(failures));
    if (kept_ == results_kept::all) made.like_first = of.same.holds_for(one.job->owner());
    one.is_to_be_read = !std::exchange(of.has_finished, true);
    ++ended_;
  }
  if (noted_.size() == max_results) {
    auto const well =
        std::find_if(noted_.begin(), noted_.end(), [](noted const& each) { return each.finished && each.like_first; });
    noted_.erase(well != noted_.end() ? well : noted_.begin());
  }
  noted_.push_back(std::move(made));
}

/// Of a task that has its result, or an older job under way.
bool side_jobs::is_spare(task const& of, task::one const& one) const {
  return std::any_of(of.jobs.begin(), of.jobs.end(), [&](task::one const& other) {
    if (&other == &one) return false;
    return other.job->progress().state == job_state::finished || (!other.over && other.order < one.order);
  });
}

void side_jobs::finish(stage_trainer& on, std::function<bool()> const& stop) {
  ending_ = true;
  auto length = long_bubble;
  while (serving_.wait_for(0s) != std::future_status::ready && !stop() && side_.mode() == runtime_mode::on) {
    replayed const done = replay(on, {{}, {{gap_site::tail, 0, 0ns, length}}, length}, 1, &side_, stop);
    std::optional<std::uint64_t> const chunks = chunks_of(done.bubbles);
    last_chunks_ = last_chunks_ && chunks ? std::optional{*last_chunks_ + *chunks} : std::nullopt;
    for (replayed_bubble const& one : done.bubbles) {
      if (!one.harvested) continue;
      bubble_record const record = one.harvested->record();
      bool const in_vain = record.items == 0 && record.handed_back != 0;
      if (in_vain) length = std::min(2 * length, max_bubble);
    }
  }
  stopping_ = true;
  serving_.get();
}

void side_jobs::finish(std::function<bool()> const& stop) {
  ending_ = true;
  last_chunks_ = std::nullopt;  // who counts them is not here
  while (serving_.wait_for(look_again) != std::future_status::ready && !stop() && side_.mode() == runtime_mode::on) {
  }
  stopping_ = true;
  serving_.get();
}

std::vector<side_jobs::reached> side_jobs::progress() const {
  std::vector<reached> found;
  for (auto const& each : tasks_) {
    job_progress const now = each->jobs.front().job->progress();
    bool const ended =
        now.state == job_state::finished || now.state == job_state::failed || now.state == job_state::cancelled;
    found.push_back({ended ? each->max_rounds : now.at.round, each->max_rounds});
  }
  return found;
}

std::vector<std::uint64_t> side_jobs::items() const {
  std::vector<std::uint64_t> found;
  for (auto const& each : tasks_) {
    std::uint64_t sum = 0;
    for (task::one const& one : each->jobs) sum += one.job->items();
    found.push_back(sum);
  }
  return found;
}

task_owner* side_jobs::finished(std::size_t index) const {
  for (task::one const& one : tasks_.at(index)->jobs) {
    if (one.over && one.job->progress().state == job_state::finished) return &one.job->owner();
  }
  return nullptr;
}

verification side_jobs::verify(std::size_t index) {
  task_owner* const owner = finished(index);
  if (owner == nullptr)
    throw usage_error{"there is no result to verify: no job of " + tasks_[index]->name + " has finished"};
  same_result::verdict const judged = tasks_[index]->same.verify(*owner);
  for (noted& each : noted_) {
    if (each.task == index && each.finished) each.result.verified = judged.first && each.like_first;
  }
  return judged.all;
}

std::vector<ended_task> side_jobs::ended_tasks() {
  std::vector<ended_task> found;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    task const& of = *tasks_[t];
    found.push_back({of.name, finished(t), [this, t] { return verify(t); }, of.saves.get(),
                     of.jobs.front().job->save_problem(), of.written});
  }
  return found;
}

void side_jobs::share_chunks(std::optional<std::uint64_t> in_bubbles,
                             std::vector<std::optional<std::uint64_t>> of_one) {
  std::uint64_t const ended = ended_;
  auto const unfinished = std::count_if(noted_.begin(), noted_.end(), [](noted const& each) { return !each.finished; });
  std::optional<std::uint64_t> all;  // of the only task; those of several are counted together
  if (tasks_.size() == 1 && in_bubbles && last_chunks_) all = *in_bubbles + *last_chunks_;
  if (all && unfinished == 0 && ended != 0) of_one.at(0) = *all / ended;
  std::optional<std::uint64_t> of_rest;  // of the one that did not finish
  if (all && unfinished == 1 && (ended == 0 || of_one.at(0)))
    of_rest = *all - std::min(*all, ended * of_one.at(0).value_or(0));
  for (noted& each : noted_) each.result.chunks = each.finished ? of_one.at(each.task) : of_rest;
}

std::vector<job_result> side_jobs::results() const {
  std::vector<job_result> found;
  for (noted const& each : noted_) {
    found.push_back(each.result);
    if (each.finished) found.back().figures = tasks_[each.task]->figures;
  }
  return found;
}

}  // namespace lull
