// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include <lull/host/catalogue/catalogue.hpp>
#include <lull/host/cli/alone.hpp>
#include <lull/host/cli/asked_task.hpp>
#include <lull/host/cli/checkpoints.hpp>
#include <lull/host/cli/commands.hpp>
#include <lull/host/cli/progress.hpp>
#include <lull/host/cli/setting.hpp>
#include <lull/host/cli/stop_request.hpp>
#include <lull/host/error.hpp>

namespace lull {
namespace {

/// The most phases that the task's options allow; 0: not known.
std::uint64_t most_phases(task_request const& request, team_shape const& shape) {
  for (std::string_view const name : {"rounds", "sweeps"}) {
    for (option const& row : request.values.table()) {
      if (row.name == name && request.values.has(name)) {
        return static_cast<std::uint64_t>(request.values.integer(name)) * shape.steps;
      }
    }
  }
  return 0;
}

std::string with_figures(report const& done, alone_result const& found) {
  auto whole = nlohmann::ordered_json::parse(to_json(done));
  whole["run"] = {{"seconds", static_cast<double>(found.time.count()) * 1e-9}, {"items_per_s", found.items_per_s()}};
  return whole.dump(2) + "\n";
}

}  // namespace

exit_code run_command(run_settings const& asked, std::ostream& out) {
  executor_kind const kind = parse_executor(asked.executor, asked.device);
  side_mode const mode = parse_mode(asked.mode);
  if (mode == side_mode::none) throw usage_error{"--mode none runs nothing: use lull or naive"};
  check_writable(asked.report, "--report");
  task_request const request = request_of(asked.task, asked.job_file);
  task_entry const& entry = entry_of(request);
  auto const limit = asked.at_most.empty() ? std::chrono::nanoseconds::max() : duration_of(asked.at_most, "--at-most");

  stop_request const stop;
  std::unique_ptr<executor> const machine = make_executor({.kind = kind, .device = asked.device, .rooms = asked.rooms, .alone = true});
  machine->arrive();
  std::unique_ptr<task_owner> const owner = entry.make(request.values);
  owner->prepare(*machine);
  job_description const job = owner->describe();
  std::unique_ptr<checkpoints> saves;
  if (asked.checkpoint) {
    if (mode == side_mode::naive) throw usage_error{"--checkpoint is for --mode lull: ordinary kernels stop nowhere"};
    saves = std::make_unique<checkpoints>(*asked.checkpoint, duration_of(asked.checkpoint_every, "--checkpoint-every"), asked.resume, request, *owner, *machine);
  }

  report done = begin_report("run", kind, asked.device);
  done.config.mode = name_of(mode);
  done.config.rooms = static_cast<std::uint32_t>(asked.rooms);
  done.config.verify = asked.verify;
  done.config.tasks.push_back(setting_of(request));

  std::uint64_t const phases = most_phases(request, (kind == executor_kind::cuda ? job.type.cuda : job.type.threads).shape);
  alone_result found;
  {
    std::optional<progress> line;
    if (phases != 0) line.emplace(request.name, phases);
    auto const begin = std::chrono::steady_clock::now();
    auto const ends = [&](std::uint64_t opened) {
      if (line) line->update(std::min(opened, phases));
      return stop.requested() || std::chrono::steady_clock::now() - begin >= limit;
    };
    found = mode == side_mode::naive ? run_plain(*machine, job, ends) : run_alone(*machine, job, ends, owner.get(), saves.get());
  }
  done.interrupted = stop.requested() && found.state == job_state::cancelled;

  job_result result{request.name, name_of(found.state), found.phases, found.chunks, found.items, std::nullopt};
  std::vector<std::string> lines;
  if (found.state == job_state::finished) {
    if (asked.verify) {
      verification const judged = owner->verify();
      result.verified = judged.ok;
      lines.push_back((judged.ok ? "verified: " : "WRONG RESULT: ") + judged.message);
    }
    for (std::string& each : owner->write()) lines.push_back(std::move(each));
  } else if (saves) {
    lines.push_back("saved: " + saves->file().string() + "; --resume goes on from there");
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
    std::snprintf(text, sizeof text, "%.6f s, %.4g items/s", static_cast<double>(found.time.count()) * 1e-9, found.items_per_s());
    out << "time                    " << text << '\n';
    for (std::string const& each : lines) out << each << '\n';
  }
  out.flush();
  if (asked.report) write_report(*asked.report, done);
  if (done.interrupted) return exit_code::interrupted;
  bool const bad = found.state == job_state::failed || result.verified == false || owner->failures() != 0;
  return bad ? exit_code::failed : exit_code::done;
}

}  // namespace lull
