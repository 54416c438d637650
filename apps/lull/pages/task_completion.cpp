// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/pages/task_completion.hpp>

#include <algorithm>
#include <filesystem>

#include <lull/apps/lull/job_spec.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_files = 1000;

/// The files and folders whose names begin so. A name that a task's text would have to quote is left out.
std::vector<std::string> files_from(std::string_view begun) {
  std::string const folder{begun.substr(0, begun.rfind('/') + 1)};  // all of it where there is no '/': 0
  std::string_view const name = begun.substr(folder.size());
  std::vector<std::string> found;
  std::error_code ignored;
  for (fs::directory_iterator at{folder.empty() ? "." : folder, ignored}, end; at != end && found.size() < max_files;
       at.increment(ignored)) {
    std::string const each = at->path().filename().string();
    if (!each.starts_with(name) || (name.empty() && each.front() == '.')) continue;
    if (each.find_first_of(", \"'\n") != std::string::npos) continue;
    found.push_back(folder + each + (at->is_directory(ignored) ? "/" : ""));
  }
  return found;
}

std::vector<std::string> values_of(option const& row, std::string_view begun) {
  if (row.kind == option_kind::path) return files_from(begun);
  std::vector<std::string> words;
  if (row.kind != option_kind::choice) {
    if (!row.default_value.empty()) words.emplace_back(row.default_value);
    return words;
  }
  words.emplace_back();
  for (char const c : row.range) c == '|' ? words.emplace_back() : words.back() += c;
  return words;
}

/// Of `begun`, which holds a colon: the last option, or its value.
std::vector<std::string> options_from(task_options const& task, std::string_view begun) {
  std::string_view const option_begun = begun.substr(begun.find_last_of(":,") + 1);
  std::size_t const equals = option_begun.find('=');
  std::vector<std::string> found;
  for (option const& row : task.options) {
    if (equals == std::string_view::npos) {
      bool const given = begun.find(":" + std::string{row.name} + "=") != std::string_view::npos ||
                         begun.find("," + std::string{row.name} + "=") != std::string_view::npos;
      if (!given) found.push_back(std::string{row.name} + "=");
    } else if (row.name == option_begun.substr(0, equals)) {
      for (std::string const& value : values_of(row, option_begun.substr(equals + 1)))
        found.push_back(std::string{row.name} + "=" + value);
    }
  }
  for (std::string& each : found) each.insert(0, begun.substr(0, begun.size() - option_begun.size()));
  return found;
}

/// A library is completed up to its colon. It is not opened for the rest: pressing a key must not run its code.
std::vector<std::string> libraries_from(std::string_view begun) {
  std::vector<std::string> found;
  for (std::string const& each : files_from(begun)) {
    if (each.find_first_of(":;=") != std::string::npos) continue;
    if (each.ends_with('/')) found.push_back(each);
    if (each.ends_with(".so")) found.push_back(each + ":");
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::vector<std::string> task_completions(std::string_view begun) {
  std::vector<std::string> found;
  std::size_t const colon = begun.find(':');
  if (begun.substr(0, colon).find('/') != std::string_view::npos)
    return colon == std::string_view::npos ? libraries_from(begun) : found;
  for (task_options const& each : known_with_job_options()) {
    if (colon == std::string_view::npos) {
      found.emplace_back(each.name);
    } else if (each.name == begun.substr(0, colon)) {
      found = options_from(each, begun);
    }
  }
  std::erase_if(found, [&](std::string const& each) { return !each.starts_with(begun); });
  std::ranges::sort(found);
  // A shell that found the only one would write a blank after it.
  if (colon == std::string_view::npos && found.size() == 1) found.push_back(found.front() + ":");
  return found;
}

}  // namespace lull
