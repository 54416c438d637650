// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/command_line.hpp>

#include <string_view>
#include <vector>

#include <lull/apps/lull/pages/command_walk.hpp>
#include <lull/apps/lull/pages/completion.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/task/options.hpp>

namespace lull {
namespace {

void add_device_options(CLI::App& command, device_settings& into) {
  command.add_option("--device", into.device, "CUDA device")->capture_default_str()->check(CLI::Range(0, 1023));
  command.add_option("--reserved-groups", into.reserved_groups, "groups of SMs that workers keep off")
      ->capture_default_str()
      ->check(CLI::Range(0, 1023));
}

void add_executor_option(CLI::App& command, std::string& into) {
  command.add_option("--executor", into, "[cuda if a device answers, else threads]")->type_name("cuda|threads");
}

void add_task_options(CLI::App& command, run_settings& into) {
  add_executor_option(command, into.executor);
  add_device_options(command, into);
  CLI::Option* const tasks = command.add_option(
      "--task", into.tasks,
      "NAME[:key=value,…], see lull tasks, or PATH:NAME[,key=value,…], such as ./libmine.so:mine; may "
      "be given several times");
  tasks->allow_extra_args(false)->type_name("TASK");
  command.add_option("--job", into.job_file, "JSON file with the names and options of one or several tasks")
      ->type_name("FILE");
  CLI::Option* const folder = command.add_option("--checkpoint", into.checkpoint.folder,
                                                 "folder with a file for each task, from which --resume continues");
  folder->type_name("FOLDER");
  command
      .add_option("--checkpoint-every", into.checkpoint.every,
                  "how often to write these files; stopping the tasks writes them, too")
      ->capture_default_str()
      ->type_name("TIME")
      ->needs(folder);
  command.add_flag("--resume", into.checkpoint.resume, "continue from the files in that folder, if there are any")
      ->needs(folder);
  command.add_flag("--verify", into.verify, "compare each result with another algorithm");
  command.add_option("--report", into.report, "file for the report (JSON)")->type_name("FILE");
  command.add_flag("--json", into.json, "print the report as JSON");
}

void add_harvest(CLI::App& command, harvest_settings& into) {
  add_task_options(command, into);
  command.add_option("--mode", into.mode, "lull; naive: side work always on; none: no side work")
      ->capture_default_str()
      ->type_name("lull|naive|none");
  command.add_option("--schedule", into.schedule, "order of the pipeline's operations")
      ->capture_default_str()
      ->type_name("gpipe|1f1b|interleaved|zero_bubble");
  command.add_option("--stages", into.stages, "stages of the pipeline")->capture_default_str();
  command.add_option("--microbatches", into.microbatches, "micro-batches an iteration")->capture_default_str();
  command.add_option("--stage", into.stage, "the stage that is replayed, from 0")->capture_default_str();
  CLI::Option* const segment =
      command.add_option("--segment", into.segment, "length of a forward; a backward takes twice that");
  segment->capture_default_str()->type_name("TIME");
  command.add_option("--longest-bubble", into.max_bubble, "length of the longest bubble; sets the segment")
      ->excludes(segment)
      ->type_name("TIME");
  command.add_option("--iterations", into.iterations, "iterations a replay")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  command.add_option("--pairs", into.pairs, "pairs of replays, without and with side work")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  command
      .add_option("--at-most", into.at_most,
                  "stop pairs and tasks after this time, such as 30s [tasks run to their end]")
      ->type_name("TIME");
  command.add_option("--min-bubble", into.min_bubble, "no side work where bubbles are shorter, such as 100us [30us]")
      ->type_name("TIME");
  command
      .add_option("--training-worth", into.training_worth,
                  "microseconds of side work that one of training is worth: no side work where bubbles bring less, "
                  "or in so many iterations that they take more than 1 % longer; 0: any is worth it [30 on a GPU]")
      ->check(CLI::Range(0.0, max_training_worth));
  command
      .add_option(
          "--rest-before-close", into.rest_before_close,
          "where bubbles are alike, begin no work so long before the next one is expected to close; 0us: always "
          "begin [10us]")
      ->type_name("TIME");
  command
      .add_option("--max-slowdown", into.max_slowdown,
                  "withhold side work in so many iterations that they take at most so much longer in the mean, such as "
                  "0.5%; with --iterations of 100 or more")
      ->type_name("PERCENT");
  command
      .add_option("--profile", into.profile,
                  "what `lull profile` found of the tasks on this machine: with --max-slowdown they begin the more "
                  "carefully the more it costs")
      ->type_name("FILE");
  command
      .add_option(
          "--share", into.share,
          "the side work is that of lull work --attach, in other processes; the replays begin when one is ready")
      ->type_name("unix:PATH");
  command.add_option("--trace", into.trace, "write a timeline (JSON) here, for https://ui.perfetto.dev")
      ->type_name("FILE");
  command.add_option("--timeline", into.timeline)->group("");  // in no help: it is refused
}

void add_profile(CLI::App& command, profile_settings& into) {
  add_executor_option(command, into.executor);
  add_device_options(command, into);
  command
      .add_option(
          "--task", into.tasks,
          "NAME[:key=value,…] or PATH:NAME[,key=value,…], as of harvest; may be given several times, such as for "
          "two sizes of one task")
      ->allow_extra_args(false)
      ->type_name("TASK")
      ->required();
  command.add_option("--bubbles", into.bubbles, "lengths of the longest bubble, with commas")
      ->capture_default_str()
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("TIMES");
  command.add_option("--pairs", into.pairs, "pairs of replays for each length, without and with side work")
      ->capture_default_str()
      ->check(CLI::Range(2, 10'000));
  command.add_option("--out", into.out, "file for the profiles (JSON)")->type_name("FILE");
  command.add_flag("--json", into.json, "print the profiles as JSON");
}

void add_choose(CLI::App& command, choose_settings& into) {
  command.add_option("PROFILES", into.profiles, "what `lull profile --out` wrote")->required();
  command.add_option("BUBBLES", into.bubbles, "the trainer's bubble report, JSON, best of LULL=observe")->required();
  command.add_option("--reserve", into.reserve, "of the free device memory, what stays the trainer's, such as 4GiB")
      ->capture_default_str()
      ->type_name("SIZE");
  command.add_option("--max-slowdown", into.max_slowdown, "the bound that the trainer will have, such as 0.5%")
      ->type_name("PERCENT");
  command.add_flag("--json", into.json, "print the table as JSON");
}

std::string task_names() {
  std::string names;
  for (task_options const& each : known_tasks()) names += (names.empty() ? "" : "|") + std::string{each.name};
  return names;
}

}  // namespace

command_line::command_line() {
  app.set_version_flag("--version", std::string{"lull " LULL_VERSION});
  app.require_subcommand(1);
  app.get_formatter()->column_width(28);
  harvest.reserved_groups = doctor.reserved_groups = profile.reserved_groups = 2;
  add_harvest(*app.add_subcommand("harvest", "replay a stage of a pipeline and harvest its bubbles"), harvest);
  CLI::App* const runs = app.add_subcommand(
      "run", "run tasks to their end on the whole machine, one at a time; while one has no input, the next works");
  add_task_options(*runs, run);
  runs->add_option("--mode", run.mode, "lull; naive: ordinary code, one kernel for each phase")
      ->capture_default_str()
      ->type_name("lull|naive");
  runs->add_option("--at-most", run.at_most, "stop after this time, such as 500ms")->type_name("TIME");
  CLI::App* const works = app.add_subcommand(
      "work", "run tasks to their end in the bubbles of another process's trainer, which shares them");
  works->add_option("--attach", work.attach, "where the trainer shares its bubbles")
      ->required()
      ->type_name("unix:PATH");
  add_task_options(*works, work);
  works->add_option("--cpus", work.cpus, "the only CPUs to use, such as 0-3,8")->type_name("CPUS");
  works->add_option("--host-memory", work.host_memory, "the most host memory to allocate, such as 4GiB")
      ->type_name("SIZE");
  works->add_option("--at-most", work.at_most, "stop after this time, such as 10min")->type_name("TIME");
  CLI::App* const tops =
      app.add_subcommand("top", "show trainers that share their bubbles, and what works in them, each second");
  tops->add_option("TRAINER", top.trainers, "where a trainer shares its bubbles, as unix:PATH; one or several")
      ->required()
      ->type_name("unix:PATH");
  tops->add_flag("--once", top.once, "show them once; fails if none is there");
  tops->add_flag("--json", top.json, "print their bubble reports as JSON");
  add_profile(
      *app.add_subcommand("profile",
                          "measure what a side task does in bubbles of several lengths on this machine, and what "
                          "it costs training"),
      profile);
  add_choose(
      *app.add_subcommand("choose", "say which of several profiled tasks fits a trainer's bubbles and memory best"),
      choose);
  queues.emplace(app);
  CLI::App* const doctors = app.add_subcommand(
      "doctor", "check what prevents harvesting here, say what to do, and measure what waits on the device cost");
  add_device_options(*doctors, doctor);
  doctors->add_flag("--json", doctor.json, "print the findings as JSON");
  CLI::App* const news = app.add_subcommand("new", "create a project of your own");
  news->require_subcommand(1);
  CLI::App* const new_tasks =
      news->add_subcommand("task", "write a side task to edit, with its tests and bench, as a project of its own");
  new_tasks->add_option("NAME", new_task, "name of the task in C++, such as word_count")->required();
  new_tasks->add_option("--in", new_task_folder, "folder for the project; must be empty or not exist [./NAME]")
      ->type_name("FOLDER");
  CLI::App* const lists = app.add_subcommand("tasks", "list the side tasks and their options");
  lists
      ->add_option("NAME", tasks.name,
                   "the only task to show, with an example; or a shared library of tasks, such as ./libmine.so")
      ->type_name(task_names());
  lists->add_flag("--json", tasks.json, "print the same as JSON");
  app.add_subcommand("completion", "print a script that completes commands, options and their values in a shell")
      ->add_option("SHELL", shell, "shell that the script is for")
      ->required()
      ->type_name("bash|zsh|fish")
      ->check(CLI::IsMember(std::vector<std::string>{shells.begin(), shells.end()}).description(""));
  app.add_subcommand("man", "print the manual page");
}

std::string refusal(CLI::App const& app, int argc, char** argv, std::string const& wrong) {
  CLI::App const* command = &app;
  std::string path;
  int at = 1;  // what follows the command, or should be one
  for (; at < argc; ++at) {
    auto const named = command->get_subcommands([&](CLI::App const* each) { return each->get_name() == argv[at]; });
    if (named.empty()) break;
    command = named.front();
    path += command->get_name() + " ";
  }
  std::string const help = "; see lull " + path + "--help\n";
  std::vector<std::string> names;
  for (std::string const& each : app.remaining(true)) {
    if (!each.starts_with('-')) continue;
    for (CLI::Option const* option : shown_options(*command)) {
      for (std::string const& name : option->get_lnames()) names.push_back("--" + name);
    }
    std::string const wanted = each.substr(0, each.find('='));
    std::vector<std::string_view> const known{names.begin(), names.end()};
    return "lull: unknown option \"" + wanted + "\"; the nearest is " + std::string{nearest(wanted, known)} + help;
  }
  for (CLI::App const* each : command->get_subcommands({})) names.push_back(each->get_name());
  if (names.empty()) return "lull: " + wrong + help;
  std::string const wanted = at < argc ? argv[at] : "";
  std::string const what =
      wanted.empty() ? wrong + "\nlull: commands: " : "unknown command \"" + wanted + "\"; known: ";
  std::vector<std::string_view> const known{names.begin(), names.end()};
  return "lull: " + what + list_known(wanted, known) + help;
}

}  // namespace lull
