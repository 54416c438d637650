// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <lull/host/runtime.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>
#include <lull/tests/support/message_of.hpp>
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

inline runtime_options on_threads() { return {.executor = {.kind = executor_kind::threads, .processors = 2}}; }

/// The message of what `prepare` throws, or nothing.
template <class Error>
std::string refusal_of(task_entry const& entry, settings const& given) {
  auto const executor = make_executor({.kind = executor_kind::threads});
  return message_of<Error>([&] { owner_of(entry, given)->prepare(*executor); });
}

/// An owner of these options, prepared, run in bubbles, and verified.
inline std::unique_ptr<task_owner> run_owner(runtime& side, task_entry const& entry, settings const& given) {
  auto made = owner_of(entry, given);
  made->prepare(executor_of(side));
  EXPECT_FALSE(made->verify().ok) << "before the run";
  EXPECT_GT(run_in_bubbles(side, made->describe(), std::chrono::microseconds{300}), 0U);
  auto const verdict = made->verify();
  EXPECT_TRUE(verdict.ok) << verdict.message;
  return made;
}

/// One of its figures; -1 if there is none of that name.
inline double figure(task_owner const& task, std::string const& name) {
  for (auto const& one : task.figures()) {
    if (one.name == name) return one.value;
  }
  return -1;
}

inline std::vector<std::string> lines_of(std::string const& path) {
  std::ifstream file{path};
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The values of a file's lines, "vertex value", each of which must be right to its end.
template <class T>
std::vector<T> column_of(std::vector<std::string> const& lines) {
  std::vector<T> values(lines.size());
  for (std::size_t vertex = 0; vertex < lines.size(); ++vertex) {
    std::string const begin = std::to_string(vertex) + '\t';
    char const* const end = lines[vertex].data() + lines[vertex].size();
    bool const whole = lines[vertex].starts_with(begin) &&
                       std::from_chars(lines[vertex].data() + begin.size(), end, values[vertex]).ptr == end;
    EXPECT_TRUE(whole) << lines[vertex];
  }
  return values;
}

}  // namespace lull::test
