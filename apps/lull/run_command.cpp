// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <vector>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/path_conflicts.hpp>
#include <lull/apps/lull/progress.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/folder_lock.hpp>
#include <lull/host/measure/always_on.hpp>
#include <lull/host/measure/finish.hpp>
#include <lull/host/report/time_text.hpp>
#include <lull/host/solo/checkpoints.hpp>
#include <lull/host/solo/solo_run.hpp>

namespace lull {
namespace {

/// The tasks of a run, prepared on the machine.
struct prepared_tasks {
  std::vector<std::unique_ptr<task_owner>> owners;
  std::vector<std::unique_ptr<checkpoints>> saves;
  std::vector<solo_task> work;
  std::vector<progress::part> rounds;  // that they can have
  std::vector<std::uint64_t> steps;    // of a round
};

prepared_tasks prepare(run_settings const& asked, std::vector<job_spec> const& tasks, executor& executor) {
  prepared_tasks made;
  made.owners = prepared_owners(tasks, executor);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    job_spec const& each = tasks[i];
    task_owner& owner = *made.owners[i];
    auto& saves = made.saves.emplace_back(checkpoints_of(asked.checkpoint, each, owner, executor));
    solo_task& one = made.work.emplace_back(solo_task{owner.describe(), &owner, saves.get()});
    one.job.name = each.name;
    one.job.priority = each.priority;
    made.rounds.push_back({each.name, owner.max_rounds()});
    made.steps.push_back(
        (executor.kind() == executor_kind::cuda ? one.job.type.cuda : one.job.type.threads).shape.steps);
  }
  return made;
}

/// The task as ordinary code, one kernel a phase: what people do today.
solo_run run_naive(executor& executor, task_owner& owner, stop_question const& stop) {
  always_on work{executor, owner, results_kept::none};
  auto const begin = std::chrono::steady_clock::now();
  work.finish(stop);
  solo_run found = work.done();
  found.time = std::chrono::steady_clock::now() - begin;
  return found;
}

job_state state_of(solo_run const& run) {
  return run.finished ? job_state::finished : run.problem ? job_state::failed : job_state::cancelled;
}

}  // namespace

exit_code run_command(run_settings const& asked, stop_request const& stop, std::ostream& out) {
  executor_kind const kind = parse_executor(asked.executor, asked.device);
  side_mode const mode = parse_mode(asked.mode);
  if (mode == side_mode::none) throw usage_error{"--mode none runs nothing: use lull or naive"};
  if (asked.checkpoint.folder && mode == side_mode::naive)
    throw usage_error{"--checkpoint needs --mode lull: the other modes stop nowhere that can be saved"};
  if (asked.report) check_writable("--report ", *asked.report);
  std::vector<job_spec> const tasks = job_specs(asked.tasks, asked.job_file);
  check_files(tasks, asked, {{"--report", asked.report}});
  if (mode == side_mode::naive && tasks.size() > 1)
    throw usage_error{"--mode naive takes one task: several take turns in bubbles, so --mode lull"};
  folder_lock const ours{asked.checkpoint.folder};
  time_limit limit{asked.at_most};

  std::unique_ptr<executor> const executor =
      make_executor({.kind = kind, .device = asked.device, .reserved_groups = asked.reserved_groups, .solo = true});
  executor->adopt_thread();
  prepared_tasks const prepared = prepare(asked, tasks, *executor);

  report done = begin_report("run", kind, mode, asked);
  for (job_spec const& each : tasks) done.config.tasks.push_back(setting_of(each));

  std::vector<solo_run> runs;
  {
    progress lines{prepared.rounds};
    limit.begin();
    auto const ends = [&](std::span<solo_run const> now) {
      std::vector<std::uint64_t> rounds;
      for (std::size_t i = 0; i < now.size(); ++i)
        rounds.push_back(now[i].finished ? prepared.rounds[i].total : now[i].phases / prepared.steps[i]);
      lines.update(rounds);
      return stop.requested() || limit.over();
    };
    if (mode == side_mode::naive) {
      runs.push_back(run_naive(*executor, *prepared.owners.front(), ends));
    } else {
      runs = run_solo(*executor, prepared.work, {.at_most = std::chrono::nanoseconds::max(), .stop = ends, .log = say});
    }
  }

  std::vector<ended_task> ended;
  bool good = true;
  bool stopped = false;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    task_owner& owner = *prepared.owners[i];
    solo_run const& run = runs[i];
    ended.push_back({tasks[i].name, run.finished ? &owner : nullptr, [&owner] { return owner.verify(); },
                     prepared.saves[i].get(), run.save_problem});
    done.jobs.push_back({tasks[i].name, name_of(state_of(run)), run.phases, run.chunks, run.items, std::nullopt,
                         run.finished ? std::optional{owner.failures()} : std::nullopt,
                         run.finished ? owner.figures() : std::vector<task_figure>{}, owner.notes()});
    good = good && run.problem == nullptr;
    stopped = stopped || state_of(run) == job_state::cancelled;
    if (std::uint64_t const failures = done.jobs.back().failures.value_or(0); failures != 0)
      say("job '" + tasks[i].name + "' failed: " + named_failures(failures));
  }
  outcome found = finish(ended, asked.verify ? results_judged::yes : results_judged::no);
  for (std::size_t i = 0; i < tasks.size(); ++i) done.jobs[i].verified = found.verified[i];
  done.interrupted = stopped && stop.requested();
  if (stopped && !done.interrupted) found.lines.push_back("not finished: " + limit.was_over());
  good = good && found.good;

  double seconds = 0;
  for (solo_run const& each : runs) seconds += std::chrono::duration<double>(each.time).count();
  done.run.seconds = seconds;
  if (runs.size() == 1) done.run.items_per_s = runs.front().items_per_s();
  if (asked.json) {
    out << to_json(done);
  } else {
    print_report(out, done);
    out << "time                    " << formatted("%.6f s", seconds);
    out << (done.run.items_per_s ? formatted(", %.4g items/s", *done.run.items_per_s) : "") << '\n';
  }
  return conclude(out, asked, done, found.lines, good);
}

}  // namespace lull
