// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/harvest.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/progress.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/apps/lull/side_treatment.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/measure/replay_trace.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

runtime_options options_of(plan_of_harvest const& plan, harvest_settings const& asked) {
  runtime_options made =
      options_for(plan.tasks, {.kind = plan.kind, .device = asked.device, .reserved_groups = asked.reserved_groups});
  made.tuning.min_bubble = plan.min_bubble;
  made.tuning.training_worth = plan.training_worth;
  made.tuning.rest_before_close = plan.rest_before_close;
  made.max_slowdown = plan.max_slowdown;
  made.share = asked.share.value_or("");
  return made;
}

/// One harvest from its preparation to its report.
class harvest {
 public:
  harvest(harvest_settings const& asked, plan_of_harvest plan, unfinished_jobs unfinished, stop_request const& stop)
      : asked_(asked),
        plan_(std::move(plan)),
        stop_(stop),
        limit_(asked.at_most),
        options_(options_of(plan_, asked)),
        side_(options_),
        in_{asked_, plan_, unfinished, side_, [this] { return stop_.requested() || limit_.over(); }},
        report_(begin_report("harvest", plan_.kind, plan_.mode, asked)) {
    report_config& config = report_.config;
    config.schedule = name_of(plan_.shape.kind);
    config.stages = asked.stages;
    config.microbatches = asked.microbatches;
    config.stage = asked.stage;
    config.segment_ms = static_cast<double>(plan_.shape.forward.count()) / 1e6;
    if (plan_.mode == side_mode::lull) {
      config.min_bubble_us = static_cast<double>(options_.tuning.min_bubble.count()) / 1e3;
      config.rest_before_close_us = static_cast<double>(options_.tuning.rest_before_close.count()) / 1e3;
    }
    config.iterations = asked.iterations;
    config.pairs = asked.pairs;
    for (job_spec const& each : plan_.tasks) config.tasks.push_back(setting_of(each));
    executor_of(side_).adopt_thread();
  }

  harvested go() {
    prepare();
    replay_pairs();
    note(work_->finish(*trainer_, bubbles_));
    if (!with_ms_.empty()) report_.training = paired_slowdown(without_ms_, with_ms_);
    if (looks_ != 0) report_.host_behind = static_cast<double>(host_behind_) / static_cast<double>(looks_);
    work_->tell(report_, bubbles_);
    report_.harvest.taken_bytes = taken_bytes_;
    if (report_.machine.gpu && clocks_ && !clocks_->empty()) report_.machine.gpu->state = clocks_->summary();
    bool const was_on = side_.mode() == runtime_mode::on;
    return {std::move(report_), std::move(lines_), good_, was_on, trainer_->describe(), std::move(events_)};
  }

 private:
  void prepare() {
    std::uint64_t const before = executor_of(side_).taken_bytes().now;
    work_ = make_side_treatment(in_);
    if (!plan_.tasks.empty()) taken_bytes_ = executor_of(side_).taken_bytes().most - before;
    bool const is_cuda = plan_.kind == executor_kind::cuda;
    if (is_cuda) clocks_.emplace(executor_of(side_).place().pci_bus_id, 0ns);
    trainer_ =
        is_cuda ? make_cuda_trainer(asked_.device, plan_.shape.forward) : make_threads_trainer(plan_.shape.forward);
    if (plan_.profiles) {
      if (std::string const why = assume_slowdown(side_, *plan_.profiles); !why.empty())
        lines_.push_back("--profile is not used: " + why);
    }
    if (in_.stopped()) {
      work_ = make_no_treatment({});
      return;
    }
    replay(*trainer_, plan_.stage, 1, nullptr, in_.stopped);  // warms up
    work_->start(*trainer_);
  }

  void replay_pairs() {
    std::array<treatment, 2> treatments{treatment{.name = "alone"}, work_->how()};
    treatments[1].end = [this, end = treatments[1].end] {
      end();
      if (clocks_) clocks_->take();
    };
    progress lines{shown_parts()};
    limit_.begin();
    for (std::uint32_t pair = 0; pair < asked_.pairs && !in_.stopped(); ++pair) {
      auto replays = replay_by_turns(*trainer_, plan_.stage, asked_.iterations, treatments, pair, in_.stopped,
                                     [&] { lines.update(shown_now(pair)); });
      for (replayed const& each : replays) {
        looks_ += each.looks;
        host_behind_ += each.host_behind;
      }
      if (replays[0].complete && replays[1].complete) {
        without_ms_.push_back(replays[0].ms());
        with_ms_.push_back(replays[1].ms());
      }
      if (asked_.trace) add_to_trace(replays, treatments, pair);
      std::ranges::move(replays[1].bubbles, std::back_inserter(bubbles_));
    }
    report_.steps = side_.steps().report();
    side_.steps().bound_slowdown(0);  // what is unfinished runs to its end outside the timing
    report_.interrupted = stop_.requested();
    std::size_t const whole = with_ms_.size();
    if (whole < asked_.pairs && !report_.interrupted && limit_.over())
      lines_.push_back(std::to_string(whole) + " of " + std::to_string(asked_.pairs) + " pairs: " + limit_.was_over());
  }

  /// All begin where the pair before ended.
  void add_to_trace(std::vector<replayed> const& replays, std::span<treatment const> treatments, std::uint32_t pair) {
    std::string names;
    for (job_spec const& each : plan_.tasks) names += (names.empty() ? "" : " + ") + each.name;
    std::int64_t const begin_ns = trace_end_ns_;
    for (std::size_t i = 0; i < replays.size(); ++i) {
      replay_place const place{treatments[i].name, i == 0 ? "" : names, pair + 1, begin_ns};
      trace_end_ns_ = std::max(trace_end_ns_, add_events(events_, replays[i], plan_.stage, place));
    }
  }

  /// The pairs, and after them how far the tasks' jobs are.
  std::vector<progress::part> shown_parts() const {
    std::vector<progress::part> parts{{"pairs", asked_.pairs}};
    auto const reached = work_->progress();
    for (std::size_t t = 0; t < reached.size(); ++t) parts.push_back({plan_.tasks[t].name, reached[t].most});
    return parts;
  }
  std::vector<std::uint64_t> shown_now(std::uint32_t pair) const {
    std::vector<std::uint64_t> done{pair};
    for (side_jobs::reached const& each : work_->progress()) done.push_back(each.rounds);
    return done;
  }

  void note(outcome const& found) {
    good_ = found.good;
    if (!found.all_finished) {
      report_.interrupted = report_.interrupted || stop_.requested();
      if (!report_.interrupted && limit_.over()) lines_.push_back("not finished: " + limit_.was_over());
    }
    lines_.insert(lines_.end(), found.lines.begin(), found.lines.end());
  }

  harvest_settings const& asked_;
  plan_of_harvest const plan_;
  stop_request const& stop_;
  time_limit limit_;  // of the pairs, and of what is unfinished after them
  runtime_options const options_;
  runtime side_;
  harvest_setting const in_;
  report report_;
  std::unique_ptr<stage_trainer> trainer_;
  std::unique_ptr<side_treatment> work_;
  std::optional<std::uint64_t> taken_bytes_;  // at most, by a job of each task
  std::optional<gpu_samples> clocks_;         // after each replay with side work
  bool good_ = true;
  std::vector<double> without_ms_;
  std::vector<double> with_ms_;
  std::uint64_t looks_ = 0, host_behind_ = 0;  // as in replayed, of all replays
  std::vector<replayed_bubble> bubbles_;       // of replays with side work
  std::vector<trace_event> events_;
  std::int64_t trace_end_ns_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace

harvested measure_harvest(harvest_settings const& asked, plan_of_harvest plan, unfinished_jobs unfinished,
                          stop_request const& stop) {
  return harvest{asked, std::move(plan), unfinished, stop}.go();
}

}  // namespace lull
