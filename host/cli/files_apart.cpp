// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cli/files_apart.hpp>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <lull/host/catalogue/catalogue.hpp>
#include <lull/host/error.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

/// Files that are there may have several names; devices and pipes may be written by all.
bool are_one(fs::path const& a, fs::path const& b) {
  std::error_code none;
  if (fs::exists(a, none) && !fs::is_regular_file(a, none)) return false;
  if (fs::equivalent(a, b, none)) return true;
  return fs::weakly_canonical(fs::absolute(a, none), none) == fs::weakly_canonical(fs::absolute(b, none), none);
}

struct use {
  fs::path file;
  std::string whose;
};

}  // namespace

void check_files_apart(std::vector<asked_task> const& tasks, std::vector<report_file> const& reports) {
  std::vector<use> read;
  std::vector<use> written;
  for (report_file const& each : reports) {
    if (each.file) written.push_back({*each.file, std::string{each.option}});
  }
  for (asked_task const& each : tasks) {
    std::unique_ptr<task_owner> const owner = entry_of(each.request).make(each.request.values);
    for (fs::path& file : owner->inputs()) read.push_back({std::move(file), each.name});
    for (fs::path& file : owner->outputs()) written.push_back({std::move(file), each.name});
  }
  for (std::size_t at = 0; at < written.size(); ++at) {
    use const& one = written[at];
    for (use const& other : read) {
      if (!are_one(one.file, other.file)) continue;
      throw usage_error{one.file.string() + " would be written by " + one.whose + ", and is read by " + other.whose + ": name another file to write"};
    }
    for (std::size_t before = 0; before < at; ++before) {
      if (!are_one(one.file, written[before].file)) continue;
      throw usage_error{one.file.string() + " would be written twice, by " + written[before].whose + " and by " + one.whose + ": name a file for each"};
    }
  }
}

}  // namespace lull
