// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/harvest.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/progress.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/account.hpp>
#include <lull/host/measure/always_on.hpp>
#include <lull/host/measure/finish.hpp>
#include <lull/host/measure/gpu_samples.hpp>
#include <lull/host/measure/replay.hpp>
#include <lull/host/measure/replay_trace.hpp>
#include <lull/host/measure/side_jobs.hpp>
#include <lull/host/solo/solo_run.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto solo_for = 1s;             // measuring the task's stand-alone speed
constexpr auto clock_every = 100ms;       // meanwhile, the GPU's clocks
constexpr std::uint64_t min_rounds = 20;  // of a job that did not end: what is short of a whole one is not counted
constexpr auto max_ready = 10s;           // from submit until a job stands ready

/// What a task did alone, again and again.
struct solo_measure {
  solo_run all;
  std::uint64_t jobs = 0;                      // that came to their end
  std::optional<std::uint64_t> chunks_of_job;  // of one that did
  std::optional<std::uint64_t> rounds_of_job;
  std::chrono::nanoseconds elapsed{0};  // of the host's clock, with all between two bubbles
};

/// From the start each time, for about that long; resets the task at the end.
solo_measure measure_solo(executor& machine, task_owner& owner, std::chrono::nanoseconds about,
                          stop_question const& stop) {
  solo_measure sum;
  auto const begin = std::chrono::steady_clock::now();
  for (bool again = true; again;) {
    // A problem shows again, and is told, when the task runs in bubbles.
    std::vector<solo_task> const task{{owner.describe(), &owner}};
    solo_run const one = run_solo(machine, task, {.at_most = about - sum.elapsed, .stop = stop}).front();
    sum.elapsed = std::chrono::steady_clock::now() - begin;
    owner.reset();
    sum.all += one;
    if (one.finished) {
      sum.jobs += 1;
      sum.chunks_of_job = one.chunks;
      sum.rounds_of_job = one.rounds;
    }
    again = one.finished && sum.all.items != 0 && sum.elapsed < about && !stop({&one, 1});
  }
  return sum;
}

/// Whole jobs; nothing where nobody knows how long one is.
std::optional<double> jobs_per_s(solo_measure const& of, task_owner const& owner) {
  std::uint64_t const rounds = of.rounds_of_job.value_or(owner.max_rounds());
  double const seconds = std::chrono::duration<double>(of.all.time).count();
  bool const is_coarse = !of.rounds_of_job && of.all.rounds < min_rounds;
  if (rounds == 0 || is_coarse || seconds == 0) return std::nullopt;
  return static_cast<double>(of.all.rounds) / static_cast<double>(rounds) / seconds;
}

runtime_options options_of(plan_of_harvest const& plan, harvest_settings const& asked) {
  runtime_options made = options_for(plan.tasks, {.kind = plan.kind, .device = asked.device, .rooms = asked.rooms});
  made.min_bubble = plan.min_bubble;
  made.rest_before_close = plan.rest_before_close;
  made.max_slowdown = plan.max_slowdown;
  return made;
}

/// One harvest from its preparation to its report.
class harvest {
 public:
  harvest(harvest_settings const& asked, plan_of_harvest plan, unfinished_jobs unfinished)
      : asked_(asked),
        plan_(std::move(plan)),
        unfinished_(unfinished),
        limit_(asked.at_most),
        options_(options_of(plan_, asked)),
        side_(options_),
        monitor_(plan_.kind == executor_kind::cuda ? std::make_unique<gpu_monitor>(side_.machine().place().pci_bus_id)
                                                   : nullptr),
        report_(begin_report("harvest", plan_.kind, plan_.mode, asked)) {
    report_config& config = report_.config;
    config.schedule = name_of(plan_.shape.kind);
    config.stages = asked.stages;
    config.microbatches = asked.microbatches;
    config.stage = asked.stage;
    config.segment_ms = static_cast<double>(plan_.shape.forward.count()) / 1e6;
    if (plan_.mode == side_mode::lull) {
      config.min_bubble_us = static_cast<double>(options_.min_bubble.count()) / 1e3;
      config.rest_before_close_us = static_cast<double>(options_.rest_before_close.count()) / 1e3;
    }
    config.iterations = asked.iterations;
    config.pairs = asked.pairs;
    for (job_spec const& each : plan_.tasks) config.tasks.push_back(setting_of(each));
    side_.machine().adopt_thread();
  }

  harvested go() {
    prepare();
    replay_pairs();
    if (jobs_) end_side_jobs();
    if (naive_) end_naive();
    sum_up();
    bool const was_on = side_.mode() == runtime_mode::on;
    return {std::move(report_), std::move(lines_), !failed_, was_on, trainer_->describe(), std::move(events_)};
  }

 private:
  bool stopped() const { return stop_.requested() || limit_.over(); }
  results_kept kept() const { return asked_.verify ? results_kept::all : results_kept::none; }

  void prepare() {
    std::uint64_t const before = side_.machine().taken_bytes().now;
    auto owners = prepared_owners(plan_.tasks, side_.machine());
    for (std::size_t t = 0; t < owners.size(); ++t) {
      job_spec const& each = plan_.tasks[t];
      auto saves = checkpoints_of(asked_.checkpoint, each, *owners[t], side_.machine());
      tasks_.push_back({each.name, {}, each.priority, std::move(saves)});
      tasks_.back().owners.push_back(std::move(owners[t]));
    }
    if (plan_.mode == side_mode::lull) {
      for (side_task_asked& each : tasks_) measure_speed(*each.owners.front());
    }
    if (!tasks_.empty()) taken_bytes_ = side_.machine().taken_bytes().most - before;
    trainer_ = plan_.kind == executor_kind::cuda ? make_cuda_trainer(asked_.device, plan_.shape.forward)
                                                 : make_threads_trainer(plan_.shape.forward);
    if (plan_.profiles) {
      if (std::string const why = suppose(side_, *plan_.profiles); !why.empty())
        lines_.push_back("--profile is not used: " + why);
    }
    if (stopped()) return;
    replay(*trainer_, plan_.stage, 1, nullptr, [this] { return stopped(); });  // warms up
    if (plan_.mode == side_mode::naive)
      naive_ = std::make_unique<always_on>(side_.machine(), *tasks_.front().owners.front(), kept());
    if (plan_.mode == side_mode::lull) start_jobs();
  }

  void measure_speed(task_owner& owner) {
    auto next = std::chrono::steady_clock::now() + clock_every;
    auto const stop = [&](std::span<solo_run const>) {
      if (monitor_ && std::chrono::steady_clock::now() >= next) {
        solo_clocks_.push_back(monitor_->sample());
        next = std::chrono::steady_clock::now() + clock_every;
      }
      return stopped();
    };
    placement const where = side_.machine().place();
    solo_measure const with_rooms = measure_solo(side_.machine(), owner, solo_for, stop);
    solo_measure on_all = with_rooms;
    if (where.owned_processors != where.processors && !stopped()) {
      auto const all = make_executor({.kind = plan_.kind, .device = asked_.device, .rooms = 0, .solo = true});
      on_all = measure_solo(*all, owner, solo_for, stop);
    }
    solo_.push_back({on_all.all.items_per_s(), with_rooms.all.items_per_s(), with_rooms.all.wait_share()});
    solo_jobs_per_s_ = jobs_per_s(on_all, owner);
    chunks_of_job_.push_back(with_rooms.chunks_of_job);
    ends_often_ = with_rooms.jobs > 0;
  }

  void start_jobs() {
    // One task alone; what is saved is one job.
    if (ends_often_ && tasks_.size() == 1 && !asked_.checkpoint.folder) {
      try {
        tasks_.front().owners.push_back(std::move(prepared_owners(plan_.tasks, side_.machine()).front()));
      } catch (limit_error const&) {  // no memory for a successor: there is a gap between two jobs then
      }
    }
    jobs_ = std::make_unique<side_jobs>(side_, std::move(tasks_), kept(), say);
    auto const give_up = std::chrono::steady_clock::now() + max_ready;
    while (!side_.ready(trainer_->stream()) && !jobs_->idle() && side_.mode() == runtime_mode::on && !stopped()) {
      if (std::chrono::steady_clock::now() >= give_up) throw limit_error{"no job was ready within 10 s"};
      std::this_thread::sleep_for(100us);
    }
    if (side_.mode() != runtime_mode::on) say("the environment variable LULL keeps harvesting off; see lull doctor");
  }

  replayed one_replay(bool with) {
    if (with && naive_) naive_->resume();
    runtime* const side = with && jobs_ ? &side_ : nullptr;
    bool const is_bounded = plan_.max_slowdown != 0;
    replayed done = replay(
        *trainer_, plan_.stage, asked_.iterations, side, [this] { return stopped(); }, is_bounded);
    if (with && naive_) naive_->pause();
    if (with && monitor_) clocks_.push_back(monitor_->sample());
    return done;
  }

  void replay_pairs() {
    progress lines{shown_parts()};
    limit_.begin();
    for (std::uint32_t pair = 0; pair < asked_.pairs && !stopped(); ++pair) {
      replayed without;
      replayed with;
      bool const with_first = pair % 2 == 1;  // in turn, so that drift hits both alike
      for (bool const side_work : {with_first, !with_first}) {
        lines.update(shown_now(pair));
        (side_work ? with : without) = one_replay(side_work);
      }
      if (without.complete && with.complete) {
        without_ms_.push_back(without.ms());
        with_ms_.push_back(with.ms());
      }
      if (asked_.trace) add_to_trace(without, with, pair);
      for (replayed_bubble& one : with.bubbles) bubbles_.push_back(std::move(one));
    }
    if (plan_.max_slowdown != 0) {
      report_.steps = side_.steps();
      side_.bound_slowdown(0);  // what is unfinished runs to its end outside the timing
    }
    report_.interrupted = stop_.requested();
    std::size_t const whole = with_ms_.size();
    if (whole < asked_.pairs && !report_.interrupted && limit_.over()) {
      lines_.push_back(std::to_string(whole) + " of " + std::to_string(asked_.pairs) + " pairs: " + limit_.was_over());
    }
  }

  /// Both begin where the pair before ended.
  void add_to_trace(replayed const& without, replayed const& with, std::uint32_t pair) {
    std::string const lane = plan_.mode == side_mode::lull    ? "with side work"
                             : plan_.mode == side_mode::naive ? "side work always on"
                                                              : "again alone";
    std::int64_t const begin_ns = trace_end_ns_;
    std::int64_t const end_ns = add_events(events_, without, plan_.stage, {"alone", "", pair + 1, begin_ns});
    trace_end_ns_ = std::max(end_ns, add_events(events_, with, plan_.stage, {lane, names(), pair + 1, begin_ns}));
  }

  std::string names() const {
    std::string all;
    for (job_spec const& each : plan_.tasks) all += (all.empty() ? "" : " + ") + each.name;
    return all;
  }

  /// The pairs, and behind them how far the tasks' jobs are.
  std::vector<progress::part> shown_parts() const {
    std::vector<progress::part> parts{{"pairs", asked_.pairs}};
    for (std::size_t t = 0; jobs_ && t < plan_.tasks.size(); ++t)
      parts.push_back({plan_.tasks[t].name, jobs_->progress()[t].most});
    return parts;
  }
  std::vector<std::uint64_t> shown_now(std::uint32_t pair) const {
    std::vector<std::uint64_t> done{pair};
    if (!jobs_) return done;
    for (side_jobs::reached const& each : jobs_->progress()) done.push_back(each.rounds);
    return done;
  }

  /// Runs what is unfinished to its end, outside the timing, then verifies and writes.
  void end_side_jobs() {
    speed_ = speed_of_what_was_done();
    jobs_->finish(*trainer_, [this] { return unfinished_ == unfinished_jobs::are_cancelled || stopped(); });
    jobs_->share_chunks(chunks_of(bubbles_), chunks_of_job_);
    note(finish(jobs_->ended_tasks(), judged()));
    failed_ = failed_ || jobs_->failed();
    report_.jobs = jobs_->results();
  }

  results_judged judged() const { return asked_.verify ? results_judged::yes : results_judged::no; }
  void note(outcome const& found) {
    failed_ = !found.good;
    if (!found.all_finished) {
      report_.interrupted = report_.interrupted || stop_.requested();
      if (!report_.interrupted && limit_.over()) lines_.push_back("not finished: " + limit_.was_over());
    }
    lines_.insert(lines_.end(), found.lines.begin(), found.lines.end());
  }

  /// What each task did is counted when no job has a place.
  solo_speed speed_of_what_was_done() {
    bool const still = solo_.size() > 1 && side_.quiet(max_ready);
    std::vector<task_part> parts;
    for (std::size_t t = 0; t < solo_.size(); ++t) parts.push_back({solo_[t], jobs_->items()[t]});
    if (still) side_.release();
    return mixed(parts);
  }

  void end_naive() {
    task_owner& owner = *tasks_.front().owners.front();
    std::string const& name = plan_.tasks.front().name;
    bool const finished = naive_->finish([this](auto const&) { return stopped(); });
    outcome const found = finish({{name, finished ? &owner : nullptr, [this] { return naive_->verify(); }}}, judged());
    note(found);
    report_.jobs.push_back({name, finished ? "finished" : "cancelled", naive_->done().phases, naive_->done().chunks,
                            naive_->done().items, found.verified.front(),
                            finished ? std::optional{owner.failures()} : std::nullopt,
                            finished ? owner.figures() : std::vector<task_figure>{}});
  }

  void sum_up() {
    if (!with_ms_.empty()) report_.training = paired_slowdown(without_ms_, with_ms_);
    if (jobs_) {
      harvest_account const sum = account_of(bubbles_, speed_);
      report_.bubbles = sum.bubbles;
      report_.drain_us = sum.drain_us;
      report_.start_us = sum.start_us;
      report_.harvest = sum.gain;
      if (speed_.items_per_s > 0) report_.harvest.solo_items_per_s = speed_.items_per_s;
      if (solo_.size() == 1) report_.harvest.solo_jobs_per_s = solo_jobs_per_s_;
      if (!solo_clocks_.empty()) report_.harvest.solo_sm_mhz = summarise(solo_clocks_).sm_mhz;
      if (sum.lease_blocks != 0)
        lines_.push_back(std::to_string(sum.lease_blocks) + " blocks left by lease inside a bubble");
    } else {
      double total_ms = 0;
      for (replayed_bubble const& one : bubbles_)
        total_ms += static_cast<double>(one.moments.end_ns - one.moments.begin_ns) / 1e6;
      report_.bubbles = {bubbles_.size(), std::nullopt, std::nullopt, total_ms};
    }
    report_.harvest.taken_bytes = taken_bytes_;
    if (report_.machine.gpu && !clocks_.empty()) report_.machine.gpu->state = summarise(clocks_);
  }

  harvest_settings const& asked_;
  plan_of_harvest const plan_;
  unfinished_jobs const unfinished_;
  stop_request const stop_;
  time_limit limit_;  // of the pairs, and of what is unfinished behind them
  runtime_options const options_;
  runtime side_;
  std::unique_ptr<gpu_monitor> monitor_;
  report report_;
  std::vector<side_task_asked> tasks_;  // until the jobs have them
  std::unique_ptr<stage_trainer> trainer_;
  std::unique_ptr<side_jobs> jobs_;
  std::unique_ptr<always_on> naive_;
  std::vector<solo_speed> solo_;              // (tasks,)
  std::optional<double> solo_jobs_per_s_;     // of the last one
  std::optional<std::uint64_t> taken_bytes_;  // at most, by a job of each task
  std::vector<gpu_state> solo_clocks_;
  std::vector<std::optional<std::uint64_t>> chunks_of_job_;  // (tasks,)
  solo_speed speed_;                                         // of all tasks, in the shares in which they were done
  bool ends_often_ = false;  // a job ended while its speed was measured: such a task gets a successor that stands ready
  bool failed_ = false;
  std::vector<double> without_ms_;
  std::vector<double> with_ms_;
  std::vector<replayed_bubble> bubbles_;
  std::vector<gpu_state> clocks_;
  std::vector<trace_event> events_;
  std::int64_t trace_end_ns_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace

harvested measure_harvest(harvest_settings const& asked, plan_of_harvest plan, unfinished_jobs unfinished) {
  return harvest{asked, std::move(plan), unfinished}.go();
}

}  // namespace lull
