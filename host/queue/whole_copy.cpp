// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/whole_copy.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <lull/host/error.hpp>
#include <lull/host/io/path_within.hpp>
#include <lull/host/queue/attempt_files.hpp>
#include <lull/host/queue/job_id.hpp>

namespace lull::queue {

namespace {

namespace fs = std::filesystem;

void flush(fs::path const& path) {
  if (int const code = flushed(path); code != 0) throw device_error{code, std::strerror(code), "fsync", path.string()};
}

/// Copies what is at `from`; of a folder itself, without what is in it.
void copy_one(fs::path const& from, fs::path const& to) {
  fs::file_status const is = fs::symlink_status(from);
  if (fs::is_symlink(is)) return fs::copy_symlink(from, to);
  if (fs::is_directory(is)) {
    fs::create_directory(to, from);
  } else if (fs::is_regular_file(is)) {
    fs::copy_file(from, to);
    flush(to);
  } else {
    throw usage_error{from.string() + " cannot be copied: it is neither a file, a folder nor a link"};
  }
}

/// Returns false where it was stopped before.
bool copy_all(fs::path const& from, fs::path const& to, std::function<bool()> const& is_stopped) {
  if (is_within(fs::weakly_canonical(to), fs::canonical(from)))
    throw usage_error{to.string() + " is in " + from.string() + ", which would be copied into itself"};
  copy_one(from, to);
  if (fs::is_symlink(to) || !fs::is_directory(to)) return !is_stopped();
  for (auto const& each : fs::recursive_directory_iterator{from}) {
    if (is_stopped()) return false;
    copy_one(each, to / each.path().lexically_relative(from));
  }
  for (auto const& each : fs::recursive_directory_iterator{to})
    if (each.is_directory() && !each.is_symlink()) flush(each);
  flush(to);
  return !is_stopped();
}

[[noreturn]] void fail_existing(fs::path const& to) { throw usage_error{to.string() + " is there already"}; }

/// Renames without replacing. Where the file system has no such call, something that appears meanwhile is replaced.
void rename_new(fs::path const& from, fs::path const& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno == EEXIST || fs::exists(fs::symlink_status(to))) fail_existing(to);
  fs::rename(from, to);
}

}  // namespace

std::uintmax_t bytes_of(fs::path const& path) {
  fs::file_status const is = fs::symlink_status(path);
  if (fs::is_regular_file(is)) return fs::file_size(path);
  std::uintmax_t bytes = 0;
  if (!fs::is_directory(is)) return bytes;
  for (auto const& each : fs::recursive_directory_iterator{path})
    if (!each.is_symlink() && each.is_regular_file()) bytes += each.file_size();
  return bytes;
}

bool make_whole(fs::path const& to, existing what, std::function<bool(fs::path const& hidden)> const& make) {
  fs::path const folder = to.has_parent_path() ? to.parent_path() : ".";
  if (!fs::is_directory(folder)) throw usage_error{folder.string() + " is not there: make it first"};
  if (what == existing::refuse && fs::exists(fs::symlink_status(to))) fail_existing(to);
  fs::path const hidden = folder / ("." + to.filename().string() + "." + make_token());
  try {
    bool const is_whole = make(hidden);
    if (!is_whole) {
      fs::remove_all(hidden);
    } else if (what == existing::refuse) {
      rename_new(hidden, to);
      flush(folder);
    } else if (std::string const problem = put_in_place(hidden, to); !problem.empty()) {
      throw usage_error{problem};
    }
    return is_whole;
  } catch (...) {
    std::error_code none;
    fs::remove_all(hidden, none);
    throw;
  }
}

bool copy_whole(fs::path const& from, fs::path const& to, existing what, std::function<bool()> const& is_stopped) {
  return make_whole(to, what, [&](fs::path const& hidden) { return copy_all(from, hidden, is_stopped); });
}

}  // namespace lull::queue
