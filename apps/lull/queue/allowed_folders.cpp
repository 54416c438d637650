// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/queue/allowed_folders.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include <lull/host/error.hpp>
#include <lull/host/io/path_within.hpp>

namespace lull {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_files = 20'000;

bool others_can_change(struct stat const& about, bool keeps_names) {
  bool const is_own = about.st_uid == ::geteuid() || about.st_uid == 0;
  return !is_own || ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !keeps_names);
}

struct stat looked_at(fs::path const& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0)
    throw usage_error{path.string() + " cannot be looked at: " + std::generic_category().message(errno)};
  return about;
}

[[noreturn]] void refuse(fs::path const& path) {
  throw usage_error{path.string() +
                    " could be changed by another user, so no code is run from there: it must belong to the agent's "
                    "user or root, and only they may write to it (chmod go-w)"};
}

}  // namespace

allowed_folders::allowed_folders(std::vector<std::string> const& folders) {
  for (std::string const& each : folders) {
    std::error_code wrong;
    fs::path const found = fs::canonical(each, wrong);
    if (wrong || !fs::is_directory(found, wrong)) throw usage_error{"--allow " + each + " is no folder"};
    refuse_if_others_can_change(found);
    folders_.push_back(found);
  }
}

std::optional<allowed_folders::code> allowed_folders::find_file(fs::path const& named) const {
  std::error_code wrong;
  fs::path const found = fs::canonical(named, wrong);
  if (wrong || !fs::is_regular_file(found, wrong)) return std::nullopt;
  auto const in =
      std::find_if(folders_.begin(), folders_.end(), [&](auto const& each) { return is_within(found, each); });
  return in != folders_.end() ? std::optional{code{*in, found}} : std::nullopt;
}

std::optional<allowed_folders::code> allowed_folders::find_module(std::string const& name) const {
  bool const is_name = std::all_of(name.begin(), name.end(),
                                   [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
  if (!is_name || name.starts_with('.') || name.find("..") != name.npos) return std::nullopt;
  std::string relative = name;
  std::replace(relative.begin(), relative.end(), '.', '/');
  for (fs::path const& folder : folders_) {
    if (auto const package = find_file(folder / relative / "__init__.py")) return code{folder, package->file};
    if (auto const file = find_file(folder / (relative + ".py"))) return code{folder, file->file};
  }
  return std::nullopt;
}

void refuse_if_others_can_change(fs::path const& path) {
  for (fs::path each = path;; each = each.parent_path()) {
    struct stat const about = looked_at(each);
    // In a folder such as /tmp others cannot rename what is not theirs.
    if (others_can_change(about, each != path && (about.st_mode & S_ISVTX) != 0)) refuse(each);
    if (each == each.parent_path()) return;
  }
}

void refuse_if_others_can_change_any(fs::path const& folder) {
  std::size_t left = max_files;
  for (auto const& each : fs::recursive_directory_iterator{folder}) {
    if (left-- == 0)
      throw usage_error{folder.string() + " has more than " + std::to_string(max_files) +
                        " files, which is too many to look at before a job: allow a folder with code alone"};
    struct stat const about = looked_at(each.path());
    if (!S_ISLNK(about.st_mode) && others_can_change(about, false)) refuse(each.path());
  }
}

}  // namespace lull
