// SPDX-License-Identifier: Apache-2.0
// Tasks in the bubbles of another process's trainer.
#include <errno.h>
#include <stdlib.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/path_conflicts.hpp>
#include <lull/apps/lull/progress.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/apps/lull/work_limits.hpp>
#include <lull/host/attach/local_socket.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/folder_lock.hpp>
#include <lull/host/measure/finish.hpp>
#include <lull/host/measure/side_jobs.hpp>

namespace lull {

namespace {

/// Returns nothing, and says why, where no trainer takes this process.
std::unique_ptr<runtime> attached(runtime_options const& options) {
  std::unique_ptr<runtime> side;
  std::string why;
  try {
    side = std::make_unique<runtime>(options);
    if (side->mode() != runtime_mode::on)
      why = "nothing is harvested: " + (side->why_off().empty() ? "LULL=observe" : side->why_off());
  } catch (error const& wrong) {
    why = wrong.what();
  }
  if (why.empty()) return side;
  say(why);
  return nullptr;
}

}  // namespace

exit_code work_command(work_settings const& asked, stop_request const& stop, std::ostream& out) {
  if (asked.cpus) use_cpus_only(*asked.cpus);
  if (asked.host_memory) limit_host_memory(*asked.host_memory);
  // Under MPS the trainer's kernels go before this process's, as those of its own streams do. A user may say otherwise.
  ::setenv("CUDA_MPS_CLIENT_PRIORITY", "1", 0);  // before CUDA starts, and before there are other threads
  attach::socket_path(asked.attach, "--attach");
  static char name[] = "lull";  // for trainers' reports: an agent starts it as /proc/self/exe
  program_invocation_short_name = name;
  executor_kind const kind = parse_executor(asked.executor, asked.device);
  if (asked.report) check_writable("--report ", *asked.report);
  std::vector<job_spec> const tasks = job_specs(asked.tasks, asked.job_file);
  check_files(tasks, asked, {{"--report", asked.report}});
  folder_lock const ours{asked.checkpoint.folder};
  time_limit limit{asked.at_most};

  runtime_options options =
      options_for(tasks, {.kind = kind, .device = asked.device, .reserved_groups = asked.reserved_groups});
  options.attach = asked.attach;
  std::unique_ptr<runtime> const made = attached(options);
  if (made == nullptr) return exit_code::not_attached;
  runtime& side = *made;
  executor_of(side).adopt_thread();
  report done = begin_report("work", kind, side_mode::lull, asked);
  for (job_spec const& each : tasks) done.config.tasks.push_back(setting_of(each));

  side_jobs jobs{side, side_tasks_of(asked.checkpoint, tasks, executor_of(side)),
                 asked.verify ? results_kept::all : results_kept::none, say};
  auto const begin = std::chrono::steady_clock::now();
  {
    std::vector<progress::part> parts;
    auto const reached = jobs.progress();
    for (std::size_t t = 0; t < reached.size(); ++t) parts.push_back({tasks[t].name, reached[t].most});
    progress lines{parts};
    limit.begin();
    jobs.finish([&] {
      std::vector<std::uint64_t> rounds;
      for (side_jobs::reached const& each : jobs.progress()) rounds.push_back(each.rounds);
      lines.update(rounds);
      return stop.requested() || limit.over();
    });
  }
  done.run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  outcome found = finish(jobs.ended_tasks(), asked.verify ? results_judged::yes : results_judged::no);
  found.good = found.good && !jobs.failed();
  done.jobs = jobs.results();
  if (!found.all_finished) {
    done.interrupted = stop.requested();
    if (!done.interrupted && limit.over()) found.lines.push_back("not finished: " + limit.was_over());
    if (side.mode() != runtime_mode::on) found.lines.push_back("not finished: " + side.why_off());
    found.good = found.good && side.mode() == runtime_mode::on;
  }
  if (asked.json) {
    out << to_json(done);
  } else {
    print_report(out, done);
  }
  return conclude(out, asked, done, found.lines, found.good);
}

}  // namespace lull
