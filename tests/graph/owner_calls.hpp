// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <lull/host/runtime.hpp>
#include <lull/host/task/owner.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lull::test {

using settings = std::vector<std::pair<std::string, std::string>>;

/// An owner as the command line makes it, with these options.
inline std::unique_ptr<task_owner> owner_of(task_entry const& entry, settings const& given) {
  option_values values{entry.options};
  for (auto const& [name, text] : given) values.set(name, text);
  return entry.make(values);
}

inline runtime_options on_threads() { return {.machine = {.kind = executor_kind::threads, .processors = 2}}; }

/// The message of what `call` throws, or nothing.
template <class Error>
std::string message_of(auto const& call) {
  try {
    call();
  } catch (Error const& refused) {
    return refused.what();
  }
  return {};
}

/// … of what `prepare` throws.
template <class Error>
std::string refusal_of(task_entry const& entry, settings const& given) {
  auto const machine = make_executor({.kind = executor_kind::threads});
  return message_of<Error>([&] { owner_of(entry, given)->prepare(*machine); });
}

inline std::vector<std::string> lines_of(std::string const& path) {
  std::ifstream file{path};
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace lull::test
