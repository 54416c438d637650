// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <memory>
#include <thread>

#include <lull/host/catalogue/catalogue.hpp>
#include <lull/host/cli/account.hpp>
#include <lull/host/cli/alone.hpp>
#include <lull/host/cli/always_on.hpp>
#include <lull/host/cli/asked_task.hpp>
#include <lull/host/cli/commands.hpp>
#include <lull/host/cli/cuda_facts.hpp>
#include <lull/host/cli/pictures.hpp>
#include <lull/host/cli/progress.hpp>
#include <lull/host/cli/replay.hpp>
#include <lull/host/cli/setting.hpp>
#include <lull/host/cli/side_jobs.hpp>
#include <lull/host/cli/stop_request.hpp>
#include <lull/host/error.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto alone_for = 1s;               // measuring the task's stand-alone speed
constexpr auto clock_every = 100ms;          // meanwhile, the GPU's clocks
constexpr double noise = 0.05;                // of the stand-alone speed, as a share
constexpr auto short_job = 100ms;            // a job shorter than this alone gets a successor that stands ready
constexpr auto longest_ready = 10s;          // from submit until a job stands ready
constexpr std::size_t most_rows = 3;         // of jobs in the table
constexpr std::uint32_t pictured = 2;        // iterations on the timeline
constexpr std::uint64_t most_segments = std::uint64_t{1} << 22;  // segments and gaps of one replay

/// What was asked for, checked before anything is started.
struct plan_of_harvest {
  executor_kind kind;
  side_mode mode;
  schedule_shape shape;
  stage_plan stage;
  task_request request;
};

plan_of_harvest check(harvest_settings const& asked) {
  plan_of_harvest made{parse_executor(asked.executor, asked.device),
                       parse_mode(asked.mode),
                       {parse_schedule(asked.schedule), asked.stages, asked.microbatches, duration_of(asked.segment, "--segment")},
                       {},
                       request_of(asked.task, asked.job_file)};
  if (!asked.longest_bubble.empty()) {
    made.shape.forward = forward_for_longest_gap(made.shape, asked.stage, duration_of(asked.longest_bubble, "--longest-bubble"));
  }
  made.stage = plan_stage(made.shape, asked.stage);
  std::uint64_t const length = (made.stage.segments.size() + made.stage.gaps.size()) * std::uint64_t{asked.iterations};
  if (length > most_segments) throw usage_error{"a replay of " + std::to_string(length) + " segments and gaps is too long: fewer --iterations"};
  if (made.mode != side_mode::none && made.stage.gaps.empty()) {
    throw usage_error{"stage " + std::to_string(asked.stage) + " of " + std::to_string(asked.stages) +
                      " has no bubble in this schedule: more stages, or --mode none"};
  }
  std::pair<std::optional<std::string> const&, char const*> const files[] = {
      {asked.report, "--report"}, {asked.trace, "--trace"}, {asked.timeline, "--timeline"}};
  for (auto const& one : files) {
    check_writable(one.first, one.second);
    for (auto const& other : files) {
      if (&one < &other && one.first && one.first == other.first) {
        throw usage_error{std::string{one.second} + " and " + other.second + " are one file: name two"};
      }
    }
  }
  return made;
}

report_config config_of(harvest_settings const& asked, plan_of_harvest const& plan) {
  report_config made;
  made.mode = name_of(plan.mode);
  made.schedule = name_of(plan.shape.kind);
  made.stages = asked.stages;
  made.microbatches = asked.microbatches;
  made.stage = asked.stage;
  made.segment_ms = static_cast<double>(plan.shape.forward.count()) / 1e6;
  made.iterations = asked.iterations;
  made.pairs = asked.pairs;
  made.rooms = static_cast<std::uint32_t>(asked.rooms);
  made.verify = asked.verify;
  if (plan.mode != side_mode::none) made.tasks.push_back(setting_of(plan.request));
  return made;
}

/// One harvest from its preparation to its report.
class harvest {
 public:
  harvest(harvest_settings const& asked, plan_of_harvest plan)
      : asked_(asked),
        plan_(std::move(plan)),
        entry_(entry_of(plan_.request)),
        side_({.machine = {.kind = plan_.kind, .device = asked.device, .rooms = asked.rooms},
               .tasks = {entry_.type()},
               .log = [](std::string_view line) { std::cerr << "lull: " << line << '\n'; }}),
        monitor_(plan_.kind == executor_kind::cuda ? std::make_unique<gpu_monitor>(pci_bus_id(asked.device)) : nullptr),
        report_(begin_report("harvest", plan_.kind, asked.device)) {
    report_.config = config_of(asked_, plan_);
    side_.machine().arrive();
  }

  exit_code go(std::ostream& out) {
    prepare();
    replay_pairs();
    end_jobs();
    sum_up();
    write(out);
    if (report_.interrupted) return exit_code::interrupted;
    return failed_ ? exit_code::failed : exit_code::done;
  }

 private:
  bool stopped() const { return stop_.requested(); }
  results_kept kept() const { return asked_.verify ? results_kept::all : results_kept::none; }

  void prepare() {
    if (plan_.mode != side_mode::none) {
      owners_.push_back(entry_.make(plan_.request.values));
      owners_.front()->prepare(side_.machine());
    }
    if (plan_.mode == side_mode::lull) measure_speed();
    trainer_ = plan_.kind == executor_kind::cuda ? make_cuda_trainer(asked_.device, plan_.shape.forward)
                                                 : make_threads_trainer(plan_.shape.forward);
    if (stopped()) return;
    replay(*trainer_, plan_.stage, 1, nullptr, [this] { return stopped(); });  // warms up
    if (plan_.mode == side_mode::naive) naive_ = std::make_unique<always_on>(side_.machine(), *owners_.front(), kept());
    if (plan_.mode == side_mode::lull) start_jobs();
  }

  void measure_speed() {
    std::vector<gpu_state> states;
    auto next = std::chrono::steady_clock::now() + clock_every;
    auto const stop = [&](std::uint64_t) {
      if (monitor_ && std::chrono::steady_clock::now() >= next) {
        states.push_back(monitor_->sample());
        next = std::chrono::steady_clock::now() + clock_every;
      }
      return stopped();
    };
    placement const where = side_.machine().place();
    alone_result const with_rooms = measure_alone(side_.machine(), *owners_.front(), alone_for, stop);
    alone_result on_all = with_rooms;
    if (where.owned_processors != where.processors && !stopped()) {
      auto const all = make_executor({.kind = plan_.kind, .device = asked_.device, .rooms = 0, .alone = true});
      on_all = measure_alone(*all, *owners_.front(), alone_for, stop);
    }
    alone_ = {on_all.items_per_s(), with_rooms.items_per_s(), with_rooms.wait_share()};
    if (!states.empty()) alone_sm_mhz_ = summarise(states).sm_mhz;
    chunks_of_job_ = with_rooms.chunks_of_job;
    short_job_ = with_rooms.jobs > 0 && with_rooms.time / with_rooms.jobs < short_job;
  }

  void start_jobs() {
    if (short_job_) {
      try {
        auto second = entry_.make(plan_.request.values);
        second->prepare(side_.machine());
        owners_.push_back(std::move(second));
      } catch (limit_error const&) {  // no memory for a successor: there is a gap between two jobs then
      }
    }
    jobs_ = std::make_unique<side_jobs>(side_, std::move(owners_), plan_.request.name, kept());
    auto const give_up = std::chrono::steady_clock::now() + longest_ready;
    while (!side_.ready(trainer_->stream()) && side_.mode() == runtime_mode::on && !stopped()) {
      if (std::chrono::steady_clock::now() >= give_up) throw limit_error{"no job stood ready within 10 s"};
      std::this_thread::sleep_for(100us);
    }
    if (side_.mode() != runtime_mode::on) std::cerr << "lull: the environment variable LULL keeps harvesting off; see lull doctor\n";
  }

  replayed one_replay(bool with) {
    if (with && naive_) naive_->resume();
    replayed done = replay(*trainer_, plan_.stage, asked_.iterations, with && jobs_ ? &side_ : nullptr, [this] { return stopped(); });
    if (with && naive_) naive_->pause();
    if (with && monitor_) clocks_.push_back(monitor_->sample());
    return done;
  }

  void replay_pairs() {
    progress line{"pairs", asked_.pairs};
    for (std::uint32_t pair = 0; pair < asked_.pairs && !stopped(); ++pair) {
      line.update(pair);
      bool const with_first = pair % 2 == 1;  // in turn, so that drift hits both alike
      replayed first = one_replay(with_first);
      replayed second = one_replay(!with_first);
      replayed& without = with_first ? second : first;
      replayed& with = with_first ? first : second;
      if (without.complete && with.complete) {
        without_ms_.push_back(without.ms());
        with_ms_.push_back(with.ms());
      }
      if (pair == 0) lanes_ = {lane_of(without, plan_.stage, "", pictured), lane_of(with, plan_.stage, plan_.request.name, pictured)};
      if (asked_.trace) {
        add_events(events_, without, plan_.stage);
        add_events(events_, with, plan_.stage);
      }
      for (replayed_bubble& one : with.bubbles) bubbles_.push_back(std::move(one));
      if (jobs_ && jobs_->failed()) break;
    }
    report_.interrupted = stopped();
  }

  /// Runs what is unfinished to its end, outside the timing, then verifies and writes.
  void end_jobs() {
    task_owner* finished = nullptr;
    if (jobs_) {
      finished = jobs_->finish(*trainer_, [this] { return stopped(); });
      failed_ = jobs_->failed();
      jobs_->share_chunks(chunks_of(bubbles_), chunks_of_job_);
    } else if (naive_) {
      if (naive_->finish([this] { return stopped(); })) finished = owners_.front().get();
    }
    report_.interrupted = report_.interrupted || (stopped() && finished == nullptr);
    std::optional<verification> judged;
    if (finished != nullptr && asked_.verify) judged = jobs_ ? jobs_->verify(*finished) : naive_->verify();
    if (judged) {
      failed_ = failed_ || !judged->ok;
      lines_.push_back((judged->ok ? "verified: " : "WRONG RESULT: ") + judged->message);
    }
    if (jobs_) report_.jobs = jobs_->results();
    if (naive_) {
      report_.jobs.push_back({plan_.request.name, finished != nullptr ? "finished" : "cancelled", naive_->phases(), naive_->chunks(),
                              naive_->items(), judged ? std::optional{judged->ok} : std::nullopt});
    }
    if (finished == nullptr) return;
    for (std::string& each : finished->write()) lines_.push_back(std::move(each));
    failed_ = failed_ || finished->failures() != 0;
  }

  void sum_up() {
    if (!with_ms_.empty()) report_.training = training_cost_of(paired_slowdown(without_ms_, with_ms_));
    if (jobs_) {
      harvest_account const sum = account_of(bubbles_, alone_);
      report_.bubbles = sum.bubbles;
      report_.drain_us = sum.drain_us;
      report_.start_us = sum.start_us;
      report_.harvest = sum.gain;
      report_.harvest.alone_sm_mhz = alone_sm_mhz_;
      if (sum.lease_blocks != 0) lines_.push_back(std::to_string(sum.lease_blocks) + " blocks left by lease inside a bubble");
      if (sum.gain.ratio_without_rooms > 1 + noise) {
        lines_.push_back("more was harvested than the task does alone: the machine was busy when that was measured");
      }
      if (jobs_->ended() > 1) lines_.push_back(std::to_string(jobs_->ended()) + " jobs came to their end");
    } else {
      double total_ms = 0;
      for (replayed_bubble const& one : bubbles_) total_ms += static_cast<double>(one.moments.end_ns - one.moments.begin_ns) / 1e6;
      report_.bubbles = {bubbles_.size(), std::nullopt, std::nullopt, total_ms};
    }
    if (report_.machine.gpu && !clocks_.empty()) report_.machine.gpu->state = summarise(clocks_);
  }

  /// First what goes to the screen: a file that cannot be written shall not take it along.
  void write(std::ostream& out) {
    if (asked_.json) {
      out << to_json(report_);
    } else {
      report shown = report_;
      auto& rows = shown.jobs;  // the report file has them all
      while (rows.size() > most_rows) {  // the last ones, and those that went wrong
        auto const right = std::find_if(rows.begin(), rows.end(), [](job_result const& each) { return each.verified != false; });
        rows.erase(right != rows.end() ? right : rows.begin());
      }
      print_report(out, shown);
      out << "trained with            " << trainer_->describe() << " a forward\n";
      for (std::string const& each : lines_) out << each << '\n';
    }
    out.flush();
    if (asked_.report) write_report(*asked_.report, report_);
    if (asked_.trace) write_trace(*asked_.trace, events_, {.time = report_.time});
    if (asked_.timeline) write_timeline(*asked_.timeline, picture());
  }

  timeline picture() {
    timeline made;
    made.subtitle = std::string{name_of(plan_.shape.kind)} + ", stage " + std::to_string(asked_.stage) + " of " +
                    std::to_string(asked_.stages) + ", " + std::to_string(asked_.microbatches) + " micro-batches, on " + report_.executor;
    made.cpu_time = plan_.kind == executor_kind::threads;
    made.slowdown_pct = report_.training.slowdown_pct;
    made.ci95_pct = report_.training.ci95_pct;
    made.harvest_ratio = report_.harvest.ratio;
    made.without = std::move(lanes_.first);
    made.with = std::move(lanes_.second);
    if (plan_.mode == side_mode::naive) made.with_title = "Training with side work always on";
    if (plan_.mode == side_mode::none) made.with_title = "The same again, without side work";
    return made;
  }

  harvest_settings const& asked_;
  plan_of_harvest const plan_;
  task_entry const& entry_;
  stop_request const stop_;
  runtime side_;
  std::unique_ptr<gpu_monitor> monitor_;
  report report_;
  std::vector<std::unique_ptr<task_owner>> owners_;  // until the jobs have them
  std::unique_ptr<stage_trainer> trainer_;
  std::unique_ptr<side_jobs> jobs_;
  std::unique_ptr<always_on> naive_;
  alone_speed alone_;
  std::optional<double> alone_sm_mhz_;
  std::optional<std::uint64_t> chunks_of_job_;
  bool short_job_ = false;
  bool failed_ = false;
  std::vector<double> without_ms_;
  std::vector<double> with_ms_;
  std::vector<replayed_bubble> bubbles_;
  std::vector<gpu_state> clocks_;
  std::vector<trace_event> events_;
  std::pair<timeline_lane, timeline_lane> lanes_;
  std::vector<std::string> lines_;
};

}  // namespace

exit_code harvest_command(harvest_settings const& asked, std::ostream& out) { return harvest{asked, check(asked)}.go(out); }

}  // namespace lull
