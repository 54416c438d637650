// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/run_together.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/finish.hpp>
#include <lull/apps/lull/progress.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/apps/lull/side_jobs.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto any_forward = 100us;  // of the trainer, of which only the waits are used

std::vector<side_task_asked> prepare(run_settings const& asked, std::vector<job_spec> const& tasks, executor& machine) {
  std::vector<side_task_asked> made;
  for (job_spec const& each : tasks) {
    auto owner = entry_of(each.request).make(each.request.values);
    owner->prepare(machine);
    auto saves = checkpoints_of(asked.checkpoint, each, *owner, machine);
    side_task_asked& one = made.emplace_back(side_task_asked{each.name, {}, each.priority, std::move(saves)});
    one.owners.push_back(std::move(owner));
  }
  return made;
}

/// A line for each task whose rounds are known.
class shown_progress {
 public:
  explicit shown_progress(side_jobs const& jobs) : jobs_(jobs), lines_(parts_of(jobs)) {}
  void update() {
    std::vector<std::uint64_t> done;
    for (side_jobs::reached const& each : jobs_.progress()) done.push_back(each.rounds);
    lines_.update(done);
  }

 private:
  static std::vector<progress::part> parts_of(side_jobs const& jobs) {
    std::vector<progress::part> parts;
    for (side_jobs::reached const& each : jobs.progress()) parts.push_back({jobs.name(parts.size()), each.most});
    return parts;
  }
  side_jobs const& jobs_;
  progress lines_;
};

std::string with_figures(report const& done, std::chrono::duration<double> time) {
  auto whole = nlohmann::ordered_json::parse(to_json(done));
  whole["run"] = {{"seconds", time.count()}, {"items_per_s", nullptr}};  // items of different tasks do not add up
  return whole.dump(2) + "\n";
}

}  // namespace

exit_code run_together(run_settings const& asked, std::vector<job_spec> const& tasks, std::ostream& out) {
  executor_kind const kind = parse_executor(asked.executor, asked.device);
  if (parse_mode(asked.mode) != side_mode::lull)
    throw usage_error{"--mode " + asked.mode + " takes one task: several share bubbles, so --mode lull"};
  time_limit limit{asked.at_most};

  stop_request const stop;
  // Not for itself alone: the kernel that stands for the trainer's wait has a place of its own, or a worker's blocks
  // could stand before their successor's.
  runtime side{options_for(tasks, {.kind = kind, .device = asked.device, .rooms = asked.rooms})};
  if (side.mode() != runtime_mode::on) {
    throw usage_error{
        "several tasks run in bubbles, and the environment variable LULL keeps side work off: unset it, or run one "
        "task at a time"};
  }
  side.machine().arrive();
  report done = begin_report("run", kind, asked.device);
  done.config.mode = asked.mode;
  done.config.rooms = static_cast<std::uint32_t>(asked.rooms);
  done.config.verify = asked.verify;
  for (job_spec const& each : tasks) done.config.tasks.push_back(setting_of(each));

  std::vector<side_task_asked> prepared = prepare(asked, tasks, side.machine());
  auto const trainer =
      kind == executor_kind::cuda ? make_cuda_trainer(asked.device, any_forward) : make_threads_trainer(any_forward);
  side_jobs jobs{side, std::move(prepared), results_kept::none, when_over::leave, say};
  {
    shown_progress lines{jobs};
    limit.begin();
    jobs.finish(*trainer, [&] {
      lines.update();
      return stop.requested() || limit.over();
    });
  }
  outcome found = finish(jobs, asked.verify ? results_judged::yes : results_judged::no);
  if (!found.all_finished && !stop.requested() && limit.over())
    found.lines.push_back("not finished: " + limit.was_over());
  done.jobs = jobs.results();
  done.interrupted = stop.requested() && !found.all_finished;
  bool const good = found.good && !jobs.failed() && side.mode() == runtime_mode::on;

  std::chrono::duration<double> const time = jobs.time();
  if (asked.json) {
    out << with_figures(done, time);
  } else {
    print_report(out, done);
    char text[64];
    std::snprintf(text, sizeof text, "%.6f s", time.count());
    out << "time                    " << text << '\n';
  }
  std::ostream& lines = asked.json ? std::cerr : out;
  if (!asked.json || !good) {
    for (std::string const& each : found.lines) lines << each << '\n';
  }
  out.flush();
  if (asked.report) write_report(*asked.report, done);
  if (done.interrupted) return exit_code::interrupted;
  return good ? exit_code::done : exit_code::failed;
}

}  // namespace lull
