// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/command_walk.hpp>

namespace lull {

std::vector<named_command> commands_of(CLI::App const& program) {
  std::vector<named_command> found{{"", &program}};
  for (std::size_t at = 0; at < found.size(); ++at) {
    named_command const of = found[at];
    for (CLI::App const* each : of.command->get_subcommands({}))
      found.push_back({of.words + (of.words.empty() ? "" : " ") + each->get_name(), each});
  }
  return found;
}

std::vector<CLI::Option const*> shown_options(CLI::App const& command) {
  return command.get_options([](CLI::Option const* each) { return !each->get_group().empty(); });
}

std::vector<std::string> option_names(CLI::App const& command) {
  std::vector<std::string> names;
  for (CLI::Option const* option : shown_options(command)) {
    for (std::string const& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool takes_value(CLI::Option const& option) { return option.get_expected_max() != 0; }

std::string value_type(CLI::Option const& option) {
  std::string const type = option.get_type_name();  // with what is checked behind a colon
  return type.substr(0, type.find(':'));
}

}  // namespace lull
