// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/path_conflicts.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include <sys/stat.h>

#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>
#include <lull/host/solo/checkpoints.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

/// Files by all of their names: one that is there may have several. Devices and pipes may be written by all, and are
/// none.
class used_files {
 public:
  /// Whose the file is; null: nobody's.
  std::string const* find(fs::path const& file) {
    for (std::string const& key : keys_of(file)) {
      if (auto const found = whose_.find(key); found != whose_.end()) return &found->second;
    }
    return nullptr;
  }
  void add(fs::path const& file, std::string const& whose) {
    for (std::string& key : keys_of(file)) whose_.emplace(std::move(key), whose);
  }

 private:
  std::vector<std::string> keys_of(fs::path const& file) {
    struct stat found {};
    bool const there = ::stat(file.c_str(), &found) == 0;
    if (there && !S_ISREG(found.st_mode)) return {};
    std::vector<std::string> keys{folder_of(file) + "/" + file.filename().string()};
    if (there) keys.push_back(std::to_string(found.st_dev) + ":" + std::to_string(found.st_ino));
    return keys;
  }
  /// Asked once a folder: a task may have very many files.
  std::string const& folder_of(fs::path const& file) {
    std::error_code none;
    fs::path const folder = fs::absolute(file, none).parent_path();
    auto const [at, fresh] = folders_.try_emplace(folder.string());
    if (fresh) at->second = fs::weakly_canonical(folder, none).string();
    return at->second;
  }

  std::map<std::string, std::string> whose_;
  std::map<std::string, std::string> folders_;
};

struct use {
  fs::path file;
  std::string whose;
};

}  // namespace

void check_files(std::vector<job_spec> const& tasks, run_settings const& asked,
                 std::vector<report_file> const& reports) {
  used_files read;
  std::vector<use> to_write;
  if (asked.job_file) read.add(*asked.job_file, "--job");
  for (report_file const& each : reports) {
    if (each.file) to_write.push_back({*each.file, std::string{each.option}});
  }
  for (job_spec const& each : tasks) {
    std::unique_ptr<task_owner> const owner = entry_of(each.request).make(each.request.values);
    for (fs::path const& file : owner->inputs()) read.add(file, each.name);
    for (fs::path& file : owner->outputs()) to_write.push_back({std::move(file), each.name});
    owner->check_outputs();
    if (!asked.checkpoint.folder) continue;
    for (fs::path& file : checkpoints::files_of(*asked.checkpoint.folder, each.name))
      to_write.push_back({std::move(file), "--checkpoint"});
  }
  used_files written;
  for (use const& one : to_write) {
    if (std::string const* const by = read.find(one.file)) {
      throw usage_error{one.file.string() + " would be written by " + one.whose + ", and is read by " + *by +
                        ": name another file to write"};
    }
    if (std::string const* const by = written.find(one.file)) {
      throw usage_error{one.file.string() + " would be written twice, by " + *by + " and by " + one.whose +
                        ": name a file for each"};
    }
    written.add(one.file, one.whose);
  }
}

}  // namespace lull
