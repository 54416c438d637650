// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/queue/command_line.hpp>

namespace lull {

/// The tables of the command line, and what they read from it. Help, completions and the manual page come from `app`.
struct command_line {
  command_line();
  command_line(command_line const&) = delete;  // the tables refer to the settings
  command_line& operator=(command_line const&) = delete;

  CLI::App app{"Lull fills the idle gaps of pipeline-parallel training with side work.", "lull"};
  harvest_settings harvest;
  profile_settings profile;
  choose_settings choose;
  run_settings run;
  work_settings work;
  top_settings top;
  device_settings doctor;
  tasks_settings tasks;
  std::string shell;
  std::string new_task;
  std::optional<std::string> new_task_folder;
  std::optional<queue_command_line> queues;
};

/// Returns what was wrong, and whose help says more. Names the nearest option for an unknown one, and the known
/// commands for an unknown one. After `app` refused the arguments.
std::string refusal(CLI::App const& app, int argc, char** argv, std::string const& wrong);

}  // namespace lull
