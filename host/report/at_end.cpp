// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/at_end.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <lull/host/error.hpp>
#include <lull/host/report/bubble_writers.hpp>

namespace lull {

namespace {

std::string filled_in(std::string name, std::string_view mark, std::string const& value) {
  for (std::size_t at = name.find(mark); at != std::string::npos; at = name.find(mark, at + value.size())) {
    name.replace(at, mark.size(), value);
  }
  return name;
}

}  // namespace

std::string report_path(std::string const& asked, int device) {
  char const* const wanted = std::getenv("LULL_REPORT");
  std::string path = wanted != nullptr && *wanted != '\0' ? wanted : asked;
  if (path.empty()) return path;
  path = filled_in(filled_in(std::move(path), "%p", std::to_string(getpid())), "%d", std::to_string(device));
  bubble_format_of(path);
  std::filesystem::path const folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(folder)) {
    throw usage_error{"a bubble report's file is '" + path + "': there is no folder '" + folder.string() +
                      "'; make it first"};
  }
  return path;
}

void hand_over(bubble_summary const& sum, std::string const& path,
               std::function<void(std::string_view)> const& log) noexcept {
  auto const say = [&](std::string const& line) {
    if (log) log(line);
  };
  try {
    if (!path.empty()) {
      write_bubble_report(path, sum);
      return say("the bubble report is in " + path);
    }
    if (!log) return;
    std::istringstream lines{bubble_text(sum)};
    for (std::string line; std::getline(lines, line);) log(line);
  } catch (std::exception const& problem) {
    try {
      say(std::string{"the bubble report was not written: "} + problem.what());
    } catch (...) {  // a log callback that throws cannot be told
    }
  }
}

}  // namespace lull
