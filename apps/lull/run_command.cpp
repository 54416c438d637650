// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/checkpoints.hpp>
#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/folder_lock.hpp>
#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/path_conflicts.hpp>
#include <lull/apps/lull/progress.hpp>
#include <lull/apps/lull/run_together.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/apps/lull/solo.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>

namespace lull {
namespace {

std::string with_figures(report const& done, solo_result const& found) {
  auto whole = nlohmann::ordered_json::parse(to_json(done));
  whole["run"] = {{"seconds", static_cast<double>(found.time.count()) * 1e-9}, {"items_per_s", found.items_per_s()}};
  return whole.dump(2) + "\n";
}

}  // namespace

exit_code run_command(run_settings const& asked, std::ostream& out) {
  executor_kind const kind = parse_executor(asked.executor, asked.device);
  side_mode const mode = parse_mode(asked.mode);
  if (mode == side_mode::none) throw usage_error{"--mode none runs nothing: use lull or naive"};
  if (asked.checkpoint.folder && mode == side_mode::naive)
    throw usage_error{"--checkpoint is for --mode lull: ordinary kernels stop nowhere"};
  check_writable(asked.report, "--report");
  std::vector<job_spec> const tasks = job_specs(asked.tasks, asked.job_file);
  check_files_apart(tasks, {{{"--report", asked.report}}, asked.job_file, asked.checkpoint.folder});
  folder_lock const ours{asked.checkpoint.folder};
  if (tasks.size() > 1) return run_together(asked, tasks, out);
  task_request const& request = tasks.front().request;
  task_entry const& entry = entry_of(request);
  time_limit limit{asked.at_most};

  stop_request const stop;
  std::unique_ptr<executor> const machine =
      make_executor({.kind = kind, .device = asked.device, .rooms = asked.rooms, .solo = true});
  machine->arrive();
  std::unique_ptr<task_owner> const owner = entry.make(request.values);
  owner->prepare(*machine);
  job_description const job = owner->describe();
  std::unique_ptr<checkpoints> const saves = checkpoints_of(asked.checkpoint, tasks.front(), *owner, *machine);

  report done = begin_report("run", kind, asked.device);
  done.config.mode = name_of(mode);
  done.config.rooms = static_cast<std::uint32_t>(asked.rooms);
  done.config.verify = asked.verify;
  done.config.tasks.push_back(setting_of(tasks.front()));

  std::uint64_t const steps = (kind == executor_kind::cuda ? job.type.cuda : job.type.threads).shape.steps;
  solo_result found;
  {
    progress line{request.name, owner->max_rounds()};
    limit.begin();
    auto const ends = [&](std::uint64_t opened) {
      line.update(opened / steps);
      return stop.requested() || limit.over();
    };
    found = mode == side_mode::naive ? run_plain(*machine, job, ends)
                                     : run_solo(*machine, job, ends, owner.get(), saves.get(), say);
  }
  done.interrupted = stop.requested() && found.state == job_state::cancelled;

  job_result result{request.name, name_of(found.state), found.phases, found.chunks,
                    found.items,  std::nullopt,         std::nullopt};
  std::vector<std::string> lines;
  bool written = true;
  if (found.state == job_state::finished) {
    result.failures = owner->failures();
    try {
      if (asked.verify) {
        verification const judged = owner->verify();
        result.verified = judged.ok;
        lines.push_back((judged.ok ? "verified: " : "WRONG RESULT: ") + judged.message);
      }
      for (std::string& each : owner->write()) lines.push_back(std::move(each));
    } catch (std::exception const& problem) {
      lines.push_back(std::string{"NOT WRITTEN: "} + problem.what());
      written = false;
    }
  } else if (found.state == job_state::cancelled && !stop.requested()) {
    lines.push_back("not finished: " + limit.was_over());
  }
  if (!found.save_problem.empty()) {
    lines.push_back("NOT SAVED: " + found.save_problem);
  } else if (saves && found.state == job_state::finished && written && owner->failures() == 0) {
    saves->forget();
  } else if (auto const where = saves ? saves->how_to_go_on() : std::nullopt) {
    lines.push_back(*where);
  }
  if (saves && saves->resumed()) lines.insert(lines.begin(), "taken up from " + saves->file().string());
  if (found.state != job_state::finished && asked.verify) {
    lines.push_back("not verified: the task did not come to its end");
  }
  done.jobs.push_back(result);

  if (asked.json) {
    out << with_figures(done, found);
  } else {
    print_report(out, done);
    char text[96];
    std::snprintf(text, sizeof text, "%.6f s, %.4g items/s", static_cast<double>(found.time.count()) * 1e-9,
                  found.items_per_s());
    out << "time                    " << text << '\n';
  }
  bool const bad = found.state == job_state::failed || result.verified == false || !written || owner->failures() != 0 ||
                   !found.save_problem.empty();
  if (!asked.json || bad) {
    for (std::string const& each : lines) (asked.json ? std::cerr : out) << each << '\n';
  }
  out.flush();
  if (asked.report) write_report(*asked.report, done);
  if (done.interrupted) return exit_code::interrupted;
  return bad ? exit_code::failed : exit_code::done;
}

}  // namespace lull
