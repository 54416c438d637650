// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/queue/command_line.hpp>

#include <string>
#include <utility>
#include <vector>

#include <lull/host/queue/job_document.hpp>

namespace lull {

namespace {

constexpr std::pair<char const*, job_action> actions[] = {{"cancel", job_action::cancel},
                                                          {"hold", job_action::hold},
                                                          {"release", job_action::release},
                                                          {"retry", job_action::retry}};
constexpr char const* action_helps[] = {"end jobs for good", "keep jobs from running until they are released",
                                        "let held jobs run", "run jobs again that failed, were refused or cancelled"};

CLI::App& add(CLI::App& app, char const* name, char const* help, queue_settings& into) {
  CLI::App& made = *app.add_subcommand(name, help);
  made.add_option("--queue", into.queue, "where jobs wait [LULL_QUEUE in the environment]")
      ->type_name("spool:PATH|postgresql://…");
  return made;
}

void add_json(CLI::App& command, queue_settings& into) {
  command.add_flag("--json", into.json, "print the same as JSON");
}

}  // namespace

queue_command_line::queue_command_line(CLI::App& app) : app_(app) {
  CLI::App& queues =
      *app.add_subcommand("queue", "make, check, clean, watch, drain or back up a queue in which jobs wait for agents");
  queues.require_subcommand(1);
  CLI::App& inits = add(queues, "init", "make it, or bring it up to date; what is there stays", init_);
  inits.add_option("--lease", init_.lease, "an agent that is not heard of for this long loses its jobs")
      ->capture_default_str()
      ->type_name("TIME");
  inits
      .add_option("--folder", init_.folder, "of checkpoints and logs, for postgresql: each agent sees it at this path")
      ->type_name("PATH");
  add(queues, "check", "say whether it can be used, and what is wrong", check_);
  CLI::App& cleans = add(queues, "clean",
                         "remove jobs that have been over for a time, with logs and checkpoints; results stay", clean_);
  cleans.add_option("--older", clean_.older, "for how long at least, such as 720h")->required()->type_name("TIME");
  add_json(cleans, clean_);
  CLI::App& measures = add(queues, "metrics", "write what is in it as figures for Prometheus", metrics_);
  measures.add_option("--out", metrics_.out, "file that is replaced as a whole, such as queue.prom [standard output]")
      ->type_name("FILE");
  measures.add_option("--every", metrics_.every, "write them again after this time, until it is asked to stop")
      ->type_name("TIME");
  CLI::App& backs = add(queues, "backup", "copy a spool while it is used; of postgresql say the command", backup_);
  backs.add_option("--to", backup_.to, "a folder that is not there yet; of postgresql a file")
      ->required()
      ->type_name("FOLDER|FILE");
  CLI::App& restores = add(queues, "restore", "make a spool of a backup; of postgresql say the command", restore_);
  restores.add_option("--from", restore_.from, "what lull queue backup made")->required()->type_name("FOLDER|FILE");
  CLI::App& drains = add(queues, "drain", "have agents begin no jobs until it is resumed; jobs that run go on", drain_);
  drains.add_flag("--save", drain_.save, "have agents save the jobs that run, which go on when it is resumed");
  drains.add_option("--reason", drain_.reason, "why, for people")->type_name("TEXT");
  add(queues, "resume", "have agents begin jobs again", resume_);

  CLI::App& submits = add(app, "submit", "put jobs into a queue, and print their ids", submit_);
  submits.add_option("JOB", submit_.files, "JSON files of schema lull.job/1");
  submits.add_option("--task", submit_.tasks, "NAME[:key=value,…], see lull tasks; a job each")
      ->allow_extra_args(false)
      ->type_name("TASK");
  submits.add_option("--name", submit_.name, "what people call the job");
  submits.add_option("--user", submit_.user, "label of who submits it");
  submits.add_option("--priority", submit_.priority, "jobs of higher priority go first")
      ->check(CLI::Range(-queue::max_priority, queue::max_priority));
  submits.add_option("--deadline", submit_.deadline, "time in UTC, such as 2026-12-01T10:00:00Z")->type_name("TIME");
  submits.add_option("--at-most", submit_.at_most, "end an attempt after this time, such as 2h")->type_name("TIME");
  CLI::Option* const each = submits.add_option(
      "--each", submit_.each,
      "watch a folder, and submit the job for each file or folder that appears there and is complete: ${each} stands "
      "for its path");
  each->type_name("FOLDER");
  CLI::Option* const marker =
      submits.add_option("--marker", submit_.marker, "with --each: what is complete holds a file of this name");
  marker->needs(each);
  submits.add_option("--quiet", submit_.quiet, "with --each: what has not changed for this long is complete")
      ->capture_default_str()
      ->type_name("TIME")
      ->needs(each)
      ->excludes(marker);
  add_json(submits, submit_);

  CLI::App& jobs = add(app, "jobs", "show the jobs of a queue that are not over", jobs_);
  CLI::Option* const ids = jobs.add_option("ID", jobs_.ids, "show these jobs only, whatever has become of them");
  jobs.add_flag("--all", jobs_.all, "show those that are over, too");
  jobs.add_option("--why", jobs_.why, "say of one job alone why it is as it is")->type_name("ID")->excludes(ids);
  add_json(jobs, jobs_);
  CLI::App& shows = add(app, "show", "print all about jobs: what was asked for, and their history (JSON)", show_);
  shows.add_option("ID", show_.ids, "of the jobs")->required();
  for (std::size_t i = 0; i < std::size(actions); ++i)
    add(app, actions[i].first, action_helps[i], action_).add_option("ID", action_.ids, "of the jobs")->required();
  app.get_subcommand("retry")->add_flag("--fresh", action_.fresh, "begin again, without what earlier attempts saved");
  CLI::App& results = add(app, "results", "show what jobs have written, or copy it to a folder", results_);
  results.add_option("ID", results_.ids, "of the jobs")->required();
  CLI::Option* const to = results.add_option("--to", results_.to, "copy them there, each whole or not at all");
  to->type_name("FOLDER");
  results.add_flag("--force", results_.force, "with --to: replace what is there")->needs(to);
  add_json(results, results_);
  CLI::App& logs = add(app, "logs", "print what a job's last attempt has printed", logs_);
  logs.add_option("ID", logs_.id, "of the job")->required();
  logs.add_flag("-f,--follow", logs_.follow, "go on until the job is over");

  CLI::App& uses = add(app, "usage", "say what jobs came to, and took of agents' time", usage_);
  uses.add_option("--since", usage_.since, "of this time until now, such as 7d")
      ->capture_default_str()
      ->type_name("TIME");
  uses.add_option("--by", usage_.by, "a line for each of what")->capture_default_str()->type_name("user|day|user,day");
  add_json(uses, usage_);

  add_json(add(app, "agents", "show the agents that take jobs from a queue", agents_), agents_);
  CLI::App& works = add(app, "agent", "take jobs from a queue, and run each in a process of its own", agent_);
  works.add_option("--attach", agent_.attach, "work in the bubbles that a trainer shares [on the whole machine]")
      ->type_name("unix:PATH");
  works.add_option("--executor", agent_.executor, "[cuda if a device answers, else threads]")
      ->type_name("cuda|threads");
  works.add_option("--device", agent_.device, "CUDA device")->capture_default_str()->check(CLI::Range(0, 1023));
  works.add_option("--jobs", agent_.jobs, "how many run at once")->capture_default_str()->check(CLI::Range(1, 64));
  works.add_option("--policy", agent_.policy,
                   "which jobs come first: first-come, shortest, largest, deadline, fair or aging; or several, as "
                   "shortest:0.7+fair:0.3 [first-come]");
  works.add_flag("--until-empty", agent_.until_empty, "end when no job waits or runs");
  works.add_option("--with-process", agent_.with_process, "stop when this process, such as a trainer, has ended")
      ->type_name("PID")
      ->check(CLI::PositiveNumber);
  works.add_flag("--allow-commands", agent_.allow_commands, "run jobs that are commands, too, as this user");
  works
      .add_option("--allow", agent_.allow,
                  "run Python jobs and libraries of tasks from this folder, too, which no other user can change")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  works
      .add_flag("--allow-untested", agent_.allow_untested,
                "run code from --allow beside a trainer, too, if it has not run on an agent without one yet")
      ->needs("--allow");
  works
      .add_option("--try-for", agent_.tries_for,
                  "stop a job's first attempt after this time: agents beside trainers go on with it")
      ->type_name("TIME")
      ->excludes("--attach");
  works.add_option("--python", agent_.python, "interpreter of Python jobs, which has the package lull")
      ->capture_default_str()
      ->type_name("PROGRAM");
  works.add_option("--log", agent_.log, "form of the lines on standard error; json: an object each")
      ->capture_default_str()
      ->type_name("text|json")
      ->check(CLI::IsMember(std::vector<std::string>{"text", "json"}).description(""));
}

std::optional<exit_code> queue_command_line::dispatch(stop_request const& stop, std::ostream& out) const {
  if (app_.got_subcommand("queue")) {
    CLI::App const& which = *app_.get_subcommand("queue");
    if (which.got_subcommand("check")) return queue_check_command(check_, out);
    if (which.got_subcommand("backup")) return queue_backup_command(backup_, stop, out);
    if (which.got_subcommand("restore")) return queue_restore_command(restore_, stop, out);
    if (which.got_subcommand("drain")) return queue_drain_command(drain_, out);
    if (which.got_subcommand("resume")) return queue_resume_command(resume_, out);
    if (which.got_subcommand("clean")) return queue_clean_command(clean_, out);
    if (which.got_subcommand("metrics")) return queue_metrics_command(metrics_, stop, out);
    return queue_init_command(init_, out);
  }
  if (app_.got_subcommand("submit")) return submit_command(submit_, stop, out);
  if (app_.got_subcommand("jobs")) return jobs_command(jobs_, out);
  if (app_.got_subcommand("show")) return show_command(show_, out);
  if (app_.got_subcommand("results")) return results_command(results_, stop, out);
  if (app_.got_subcommand("logs")) return logs_command(logs_, stop, out);
  if (app_.got_subcommand("usage")) return usage_command(usage_, out);
  if (app_.got_subcommand("agents")) return agents_command(agents_, out);
  if (app_.got_subcommand("agent")) return agent_command(agent_, stop, out);
  for (auto const& [name, what] : actions)
    if (app_.got_subcommand(name)) return job_action_command(what, action_, out);
  return std::nullopt;
}

}  // namespace lull
