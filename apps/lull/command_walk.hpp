// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace lull {

/// A command with the words that name it after the program's name: "new task"; the program itself: "".
struct named_command {
  std::string words;
  CLI::App const* command;
};

/// The program and all its commands, each one before its own commands.
std::vector<named_command> commands_of(CLI::App const& program);

/// The options and arguments that a command's help shows.
std::vector<CLI::Option const*> shown_options(CLI::App const& command);

/// The names of these options, such as "--report"; arguments have none.
std::vector<std::string> option_names(CLI::App const& command);

bool takes_value(CLI::Option const& option);

/// What the help calls a value: "FILE", "cuda|threads".
std::string value_type(CLI::Option const& option);

}  // namespace lull
