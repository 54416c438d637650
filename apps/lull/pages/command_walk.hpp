// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace lull {

/// The options and arguments that a command's help shows.
inline std::vector<CLI::Option const*> shown_options(CLI::App const& command) {
  return command.get_options([](CLI::Option const* each) { return !each->get_group().empty(); });
}

inline bool takes_value(CLI::Option const& option) { return option.get_expected_max() != 0; }

/// What the help calls a value: "FILE", "cuda|threads".
inline std::string value_type(CLI::Option const& option) {
  std::string const type = option.get_type_name();  // with what is checked after a colon
  return type.substr(0, type.find(':'));
}

}  // namespace lull
