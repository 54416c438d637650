// SPDX-License-Identifier: Apache-2.0
#include <lull/host/solo/solo_run.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <lull/host/bubble.hpp>
#include <lull/host/detail/deadline.hpp>
#include <lull/host/error.hpp>
#include <lull/host/solo/bubble_lengths.hpp>
#include <lull/host/solo/solo_bubbles.hpp>
#include <lull/host/task/hosted_job.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using clock = std::chrono::steady_clock;

constexpr auto lease = 2s;                // a worker that leaves by its lease is followed by another, in another bubble
constexpr auto look = 50us;               // between two looks at a bubble that the host closes
constexpr auto look_seldom = 200us;       // … at one that lasts: leaves the CPU to the task
constexpr auto spun = 200us;              // before a random close: a sleep may take longer than requested
constexpr nanoseconds first_turn = 25ms;  // of a task while another that goes first starves
constexpr nanoseconds max_turn = 1s;      // if its chunks are longer than that

using log_function = std::function<void(std::string_view)>;

std::string text_of(std::exception_ptr const& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (std::exception const& reason) {
    return reason.what();
  } catch (...) {
    return "an error that is no std::exception";
  }
}

/// One task with its job in bubbles, and the result.
class solo_job {
 public:
  solo_job(executor& executor, solo_task const& task, std::uint32_t grain, log_function const& log, solo_run& found)
      : name_(task.job.name),
        priority_(task.job.priority),
        log_(log),
        found_(found),
        hosted_(executor, {with_grain(task.job, grain), borrowed(task.owner), borrowed(task.saves)}, log) {
    hosted_.submit([&](job_description what) {
      bubbles_.emplace(executor, std::move(what), lease);
      return bubbles_->handle();
    });
    settle();
    found_.brought = found_.items;
  }

  int priority() const noexcept { return priority_; }
  bool over() const noexcept { return over_; }
  bool starves() const noexcept { return starves_; }
  /// The host may learn of a phase late, so this never takes back what a close has settled.
  void note_phases() {
    if (over_) return;
    found_.phases = std::max(found_.phases, hosted_.progress().phases);
    found_.rounds = std::max(found_.rounds, hosted_.current_job().rounds());
  }

  /// Runs one bubble of this length, or until `latest`, or until the blocks have left because the task is over or
  /// starves. `rest`: between two looks; the time before the close is `last_spun`.
  template <class Stop>
  bubble_record work(nanoseconds length, clock::time_point latest, nanoseconds rest, nanoseconds last_spun,
                     Stop const& stop) {
    bool const is_served = hosted_.is_served();
    bubbles_->open();
    auto const closes = std::min(latest, deadline_after(length));  // read after opening, which takes some time
    while (!bubbles_->left() && !hosted_.serving_failed() && !stop()) {
      auto const left = closes - clock::now();
      if (left <= 0ns) break;
      if (left > last_spun) {
        std::this_thread::sleep_for(rest);
      } else {
        std::this_thread::yield();
      }
      if (hosted_.save_is_due()) break;  // not before the blocks have had some time
    }
    bubble_record const one = bubbles_->close(log_);
    add(one);
    settle();
    bool const asked = one.starved_blocks != 0;  // false: the bubble may have been too short
    if (starves_ && asked && !is_served && !hosted_.serving_failed())
      fail("the task starves, and its owner no longer feeds it");
    if (over_ || hosted_.serving_failed()) {
      end();
    } else if (hosted_.save_is_due()) {
      hosted_.save();
    }
    return one;
  }

  /// Ends the job; no bubble follows.
  void end() {
    if (std::exchange(ended_, true)) return;
    over_ = true;
    bubbles_->end(found_.finished ? job_state::finished : failed_ ? job_state::failed : job_state::cancelled);
    hosted_.save_at_end();  // also when finished: its results may not be written yet
    if (failed_) tell_problem();
    if (hosted_.serving_failed()) finish();
  }

  /// Waits for its owner.
  void finish() {
    end();
    found_.save_problem = hosted_.save_problem();
    try {
      hosted_.finish_serving();
    } catch (...) {
      found_.problem = std::current_exception();
      tell_problem();
    }
  }

 private:
  static job_description with_grain(job_description job, std::uint32_t grain) {
    if (grain != 0) job.grain = grain;
    return job;
  }

  void add(bubble_record const& one) {
    found_.bubbles += 1;
    found_.chunks += one.chunks;
    found_.handed_back += one.handed_back;
    found_.stay += nanoseconds{one.stay_ns};
    found_.waiting += nanoseconds{one.wait_ns};
    found_.time += time_at_work(one);
    if (one.not_saw_ns != 0) found_.drains.emplace_back(one.last_out_ns - ~one.not_saw_ns);
  }

  /// Notes the job's progress.
  void settle() {
    cursor const now = bubbles_->reached().words;
    phase_state const state = tagged_state{now.state}.state();
    found_.items = now.items + now.done;
    found_.phases = now.phases;
    found_.rounds = now.round;
    found_.finished = state == phase_state::finished;
    starves_ = state == phase_state::starved;
    over_ = found_.finished;
    if (state == phase_state::failed) {
      fail(failure{now.why} == failure::too_many_items ? "a phase has more items than a cursor can count"
                                                       : "the task reported a failure");
    }
  }

  void fail(char const* why) {
    over_ = failed_ = true;
    found_.problem = std::make_exception_ptr(usage_error{why});
  }

  void tell_problem() {
    if (log_) log_("job '" + name_ + "' failed: " + text_of(found_.problem));
  }

  std::string const name_;
  int const priority_;
  log_function const& log_;
  solo_run& found_;
  hosted_job hosted_;
  std::optional<solo_bubbles> bubbles_;  // destroyed before `hosted_`: the end of the bubbles ends the job
  bool starves_ = false;                 // as of the last look
  bool failed_ = false;
  bool over_ = false;
  bool ended_ = false;
};

solo_run run_one(executor& executor, solo_task const& task, solo_run_options const& how) {
  solo_run found = std::move(run_solo(executor, {task}, how).front());
  if (found.problem) std::rethrow_exception(found.problem);
  return found;
}

}  // namespace

solo_run& solo_run::operator+=(solo_run const& other) {
  finished = finished && other.finished;
  bubbles += other.bubbles;
  items += other.items;
  brought += other.brought;
  chunks += other.chunks;
  handed_back += other.handed_back;
  phases += other.phases;
  rounds += other.rounds;
  time += other.time;
  stay += other.stay;
  waiting += other.waiting;
  drains.insert(drains.end(), other.drains.begin(), other.drains.end());
  return *this;
}

double solo_run::items_per_s() const noexcept {
  return time.count() == 0 ? 0 : static_cast<double>(items - brought) / std::chrono::duration<double>(time).count();
}

double solo_run::wait_share() const noexcept {
  return stay.count() == 0 ? 0 : static_cast<double>(waiting.count()) / static_cast<double>(stay.count());
}

nanoseconds solo_run::chunk_time() const noexcept {
  return chunks == 0 ? 0ns : stay / static_cast<std::int64_t>(chunks);
}

std::vector<solo_run> run_solo(executor& executor, std::vector<solo_task> const& tasks, solo_run_options const& how) {
  device_guard const here{executor};
  auto const end = deadline_after(how.at_most);
  std::optional<bubble_lengths> random;
  if (how.max_bubble.count() != 0) random.emplace(how.bubble, how.max_bubble, how.seed);
  bool const lasts = !random && how.bubble.count() == 0;
  std::vector<solo_run> found(tasks.size());
  std::vector<std::unique_ptr<solo_job>> jobs;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    jobs.push_back(std::make_unique<solo_job>(executor, tasks[i], how.grain, how.log, found[i]));
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](auto const& one, auto const& other) { return one->priority() > other->priority(); });
  auto const stop = [&] {
    if (clock::now() >= end) return true;
    for (auto const& each : jobs) each->note_phases();
    return how.stop && how.stop(found);
  };

  nanoseconds turn = first_turn;
  bool starving = false;  // a task that goes before `next` starves
  for (std::size_t next = 0; !stop();) {
    while (next < jobs.size() && jobs[next]->over()) ++next;
    if (next == jobs.size()) {
      if (!std::exchange(starving, false)) break;
      std::this_thread::sleep_for(look);
      next = 0;
      continue;
    }
    nanoseconds length = lasts ? nanoseconds::max() : random ? random->next() : how.bubble;
    if (starving) length = std::min(length, turn);
    solo_job& job = *jobs[next];
    bubble_record const one = job.work(length, end, lasts ? look_seldom : look, random ? spun : 0ns, stop);
    if (starving && one.items == 0 && one.handed_back != 0) turn = std::min(2 * turn, max_turn);
    starving = job.starves() && !job.over();
    next = starving ? next + 1 : 0;
  }
  for (auto const& each : jobs) each->end();
  for (auto const& each : jobs) each->finish();
  return found;
}

solo_run run_to_end(task_owner& owner, executor& executor, solo_run_options const& how) {
  return run_one(executor, {owner.describe(), &owner}, how);
}

solo_run run_to_end(job_description const& job, executor& executor, solo_run_options const& how) {
  return run_one(executor, {job}, how);
}

nanoseconds percentile(std::vector<nanoseconds> values, double share) {
  if (values.empty()) return 0ns;
  std::sort(values.begin(), values.end());
  auto const rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

}  // namespace lull
