// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/attempt_files.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lull/host/io/process_descriptor.hpp>
#include <lull/host/queue/uninterrupted.hpp>

namespace lull::queue {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_line_bytes = 300;
constexpr std::streamoff max_log_end = 4'096;
constexpr std::string_view checkpoint_name = "checkpoint-";

fs::path checkpoint_of(fs::path const& folder, unsigned number) {
  return folder / (std::string{checkpoint_name} + std::to_string(number));
}

process_descriptor opened(fs::path const& at, int more = 0) {
  return process_descriptor::opened_by(
      [&] { return uninterrupted([&] { return ::open(at.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | more); }); });
}

void flush(fs::path const& at) {
  if (int const code = flushed(at); code != 0)
    throw fs::filesystem_error{"writing a checkpoint to the disk", at, {code, std::generic_category()}};
}

void take_over_file(fs::path const& from, fs::path const& to) {
  std::error_code problem;
  std::error_code none;
  fs::create_hard_link(from, to, problem);
  if (!problem || fs::exists(to, none)) return;
  fs::copy_file(from, to, fs::copy_options::skip_existing, problem);
  if (problem && fs::exists(from, none)) throw fs::filesystem_error{"copying a checkpoint", to, problem};
  if (!problem) flush(to);
}

/// Returns whether there was any file.
bool take_over_folder(fs::path const& from, fs::path const& to) {
  bool any = false;
  std::error_code unreadable;
  fs::directory_iterator at{from, unreadable};
  for (; !unreadable && at != fs::directory_iterator{}; at.increment(unreadable)) {
    fs::directory_entry const& each = *at;
    fs::path const target = to / each.path().filename();
    if (each.is_symlink() || target.filename().string().front() == '.') continue;
    if (each.is_directory()) {
      fs::create_directory(target);
      any = take_over_folder(each.path(), target) || any;
    } else if (each.is_regular_file()) {
      take_over_file(each.path(), target);
      any = true;
    }
  }
  if (unreadable && unreadable != std::errc::no_such_file_or_directory)
    throw fs::filesystem_error{"listing a checkpoint", from, unreadable};
  flush(to);
  return any;
}

/// Gives an attempt what the last one before it had saved. The folder has its name only when all of it is there: a part
/// would be taken over by the attempt after it.
void make_checkpoint(fs::path const& folder, unsigned number) {
  fs::path const to = checkpoint_of(folder, number);
  if (fs::exists(to)) return;
  fs::path unfinished = to;
  unfinished += ".new";
  fs::remove_all(unfinished);
  fs::create_directory(unfinished);
  unsigned before = number;
  while (--before != 0 && !take_over_folder(checkpoint_of(folder, before), unfinished)) {
  }
  flush(unfinished);
  fs::rename(unfinished, to);
  std::error_code none;  // the last one stays: an agent that has lost its lease may still be using it
  if (number > 2) fs::remove_all(checkpoint_of(folder, number - 2), none);
}

}  // namespace

int flushed(fs::path const& at) {
  auto const open = opened(at);
  if (!open) return errno == EACCES ? 0 : errno;  // a folder in which names may be made, and not read
  return uninterrupted([&] { return ::fsync(open.get()); }) != 0 ? errno : 0;
}

fs::path attempt::result(fs::path const& wanted) const {
  fs::path const name = wanted.filename();
  return wanted.parent_path() /
         (name.stem().string() + ".attempt-" + std::to_string(number) + "-" + id + name.extension().string());
}

attempt attempt_in(fs::path const& folder, std::string const& id, unsigned number) {
  attempt made{.id = id,
               .number = number,
               .checkpoint = checkpoint_of(folder, number),
               .log = folder / ("log-" + std::to_string(number))};
  make_checkpoint(folder, number);
  return made;
}

void forget_checkpoints(fs::path const& folder) {
  std::error_code none;
  for (auto const& each : fs::directory_iterator{folder, none})
    if (each.path().filename().string().starts_with(checkpoint_name)) fs::remove_all(each.path(), none);
}

std::string flush_result(fs::path const& of, fs::path const& wanted) {
  auto const result = opened(of, O_NOFOLLOW);
  if (!result && errno == ENOENT) return "its result " + wanted.string() + " was not written";
  if (!result) return of.string() + " cannot be opened: " + std::strerror(errno);
  struct stat about {};
  bool const is_folder = ::fstat(result.get(), &about) == 0 && S_ISDIR(about.st_mode);
  std::error_code none;
  if (fs::exists(wanted, none) && fs::is_directory(wanted, none) != is_folder)
    return "its result " + wanted.string() + (is_folder ? " is a folder" : " is a file") + ", and what is there is not";
  // One call for all files of a folder: an agent has other jobs to see to.
  auto const flush = [&] { return is_folder ? ::syncfs(result.get()) : ::fsync(result.get()); };
  int code = uninterrupted(flush) != 0 ? errno : 0;
  if (code == 0 && !is_folder) code = flushed(of.parent_path());
  return code == 0 ? "" : of.string() + " cannot be written to the disk: " + std::strerror(code);
}

/// A folder that is in the way goes aside first. A process that dies then leaves a name that is missing, not one that
/// has the older result: to exchange the two would leave nothing that tells whether they were.
std::string put_in_place(fs::path const& from, fs::path const& to) {
  fs::path older = from;
  older += ".older";
  std::error_code problem;
  std::error_code none;
  fs::rename(from, to, problem);
  if (problem.value() == ENOTEMPTY || problem.value() == EEXIST) {
    fs::remove_all(older, none);
    fs::rename(to, older, problem);
    if (!problem) fs::rename(from, to, problem);
    // Another agent has put it in place meanwhile, and what went aside is that.
    if (problem.value() == ENOENT) ::renameat2(AT_FDCWD, older.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  }
  bool const was_before = problem.value() == ENOENT && !fs::exists(from, none) && fs::exists(to, none);
  if (problem && !was_before) return from.string() + " cannot be put in place: " + problem.message();
  int const code = flushed(to.parent_path());
  if (code != 0) return to.string() + " cannot be written to the disk: " + std::strerror(code);
  fs::remove_all(older, none);
  return {};
}

void bound_log(fs::path const& log, std::uint64_t max_bytes) {
  std::error_code none;
  std::uintmax_t const size = fs::file_size(log, none);
  if (none || size <= max_bytes) return;
  std::string kept = "[what came before is left out: a log has at most " + std::to_string(max_bytes) + " bytes]\n";
  std::string end(max_bytes / 2, '\0');  // and not more, though the program goes on writing
  std::ifstream file{log, std::ios::binary};
  file.seekg(static_cast<std::streamoff>(size - end.size()));
  file.read(end.data(), static_cast<std::streamsize>(end.size()));
  kept.append(end, 0, static_cast<std::size_t>(file.gcount()));
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
