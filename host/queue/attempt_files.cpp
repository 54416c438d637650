// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/attempt_files.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <lull/host/io/process_descriptor.hpp>

namespace lull::queue {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_line_bytes = 300;
constexpr std::streamoff max_log_end = 4'096;
constexpr std::string_view checkpoint_name = "checkpoint-";

fs::path checkpoint_of(fs::path const& folder, unsigned number) {
  return folder / (std::string{checkpoint_name} + std::to_string(number));
}

/// Gives an attempt one file of the last one.
void take_over(fs::path const& from, fs::path const& to, file_use use) {
  std::error_code problem;
  std::error_code none;
  if (use == file_use::replaced) {
    fs::create_hard_link(from, to, problem);
    if (!problem || fs::exists(to, none)) return;
  }
  fs::copy_file(from, to, fs::copy_options::skip_existing, problem);
  if (problem && fs::exists(from, none)) throw fs::filesystem_error{"copying a checkpoint", to, problem};
}

/// Gives an attempt what the last one before it had saved.
void take_over_checkpoint(fs::path const& folder, unsigned number, file_use use) {
  fs::path const to = checkpoint_of(folder, number);
  std::error_code none;
  for (unsigned before = number; --before != 0;) {
    fs::path const from = checkpoint_of(folder, before);
    bool any = false;
    for (fs::recursive_directory_iterator at{from, none}, end; at != end; at.increment(none)) {
      fs::path const target = to / at->path().lexically_relative(from);
      bool const is_unfinished = target.filename().string().front() == '.';
      if (is_unfinished) at.disable_recursion_pending();
      if (is_unfinished || at->is_symlink(none)) continue;
      if (at->is_directory(none)) fs::create_directory(target);
      if (!at->is_regular_file(none)) continue;
      any = true;
      take_over(at->path(), target, use);
    }
    if (any) return;
  }
}

void flush_names_in(fs::path const& folder) {
  auto const open =
      process_descriptor::opened_by([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (open) ::fsync(open.get());
}

}  // namespace

fs::path attempt::result(fs::path const& wanted) const {
  fs::path const name = wanted.filename();
  return wanted.parent_path() /
         (name.stem().string() + ".attempt-" + std::to_string(number) + "-" + id + name.extension().string());
}

attempt attempt_in(fs::path const& folder, std::string const& id, unsigned number, file_use use) {
  attempt made{.id = id,
               .number = number,
               .checkpoint = checkpoint_of(folder, number),
               .log = folder / ("log-" + std::to_string(number))};
  fs::create_directory(made.checkpoint);
  take_over_checkpoint(folder, number, use);
  return made;
}

void forget_checkpoints(fs::path const& folder) {
  std::error_code none;
  for (auto const& each : fs::directory_iterator{folder, none})
    if (each.path().filename().string().starts_with(checkpoint_name)) fs::remove_all(each.path(), none);
}

std::string put_in_place(fs::path const& from, fs::path const& to) {
  std::error_code problem;
  fs::rename(from, to, problem);
  std::error_code none;
  bool const is_folder = problem.value() == ENOTEMPTY || problem.value() == EEXIST;
  if (is_folder && ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(from, none);  // what was there before
    problem.clear();
  }
  if (problem.value() == ENOENT && !fs::exists(from, none) && fs::exists(to, none)) return {};
  if (problem) return from.string() + " cannot be put in place: " + problem.message();
  flush_names_in(to.parent_path());
  return {};
}

void bound_log(fs::path const& log, std::uint64_t max_bytes) {
  std::error_code none;
  std::uintmax_t const size = fs::file_size(log, none);
  if (none || size <= max_bytes) return;
  std::string kept = "[what came before is left out: a log has at most " + std::to_string(max_bytes) + " bytes]\n";
  std::ifstream file{log, std::ios::binary};
  file.seekg(static_cast<std::streamoff>(size - max_bytes / 2));
  kept.append(std::istreambuf_iterator<char>{file}, {});
  auto const open =
      process_descriptor::opened_by([&] { return ::open(log.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC); });
  if (!open || ::ftruncate(open.get(), 0) != 0) return;  // tried again at the next look
  for (std::size_t at = 0; at < kept.size();) {
    ssize_t const wrote = ::write(open.get(), kept.data() + at, kept.size() - at);
    if (wrote < 0 && errno != EINTR) return;
    at += wrote < 0 ? 0 : static_cast<std::size_t>(wrote);
  }
}

std::string last_line(fs::path const& log) {
  std::ifstream file{log, std::ios::binary | std::ios::ate};
  if (!file) return {};
  file.seekg(std::max<std::streamoff>(0, file.tellg() - max_log_end));
  std::string line;
  for (std::string each; std::getline(file, each);)
    if (!each.empty()) line = std::move(each);
  if (line.size() > max_line_bytes) line.resize(max_line_bytes);
  for (char& each : line)
    if (static_cast<unsigned char>(each) < ' ') each = ' ';
  return line;
}

}  // namespace lull::queue
