// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/atomic_file.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <lull/host/error.hpp>

namespace lull {
namespace {

constexpr std::size_t buffer_bytes = 1 << 16;
constexpr int name_attempts = 100;

bool is_written_directly(std::filesystem::path const& path, struct stat const& status) {
  std::string const name = std::filesystem::absolute(path).lexically_normal().string();
  bool const device = name.starts_with("/dev/") && !name.starts_with("/dev/shm/");  // that is a folder like any other
  return !S_ISREG(status.st_mode) || device || name.starts_with("/proc/");
}

int open_retrying(char const* path, int flags, mode_t mode) {
  int descriptor = -1;
  do {
    descriptor = ::open(path, flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

std::filesystem::path folder_of(std::filesystem::path const& file) {
  std::filesystem::path const folder = file.parent_path();
  return folder.empty() ? "." : folder;
}

// A temporary name consists of this, the process, a dot, a number and the ending below. A name may have 255 bytes; the
// target's part is cut so that the temporary name fits wherever the target does.
std::string temporary_stem(std::filesystem::path const& target) {
  return "." + target.filename().string().substr(0, 200) + ".";
}
constexpr std::string_view temporary_ending = ".tmp";

bool is_temporary(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem) || !name.ends_with(temporary_ending)) return false;
  if (name.size() < stem.size() + temporary_ending.size()) return false;
  std::string_view const numbers = name.substr(stem.size(), name.size() - stem.size() - temporary_ending.size());
  return numbers.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::count(numbers.begin(), numbers.end(), '.') == 1;
}

}  // namespace

atomic_file::atomic_file(std::filesystem::path path) : path_(std::move(path)), target_(path_) {
  if (path_.filename().empty()) throw usage_error("\"" + path_.string() + "\" does not name a file to write");

  struct stat old {};
  if (::stat(path_.c_str(), &old) == 0) {
    if (S_ISDIR(old.st_mode)) throw usage_error(path_.string() + " is a folder: name a file in it");
    written_directly_ = is_written_directly(path_, old);
    if (written_directly_) {
      descriptor_ = open_retrying(path_.c_str(), O_WRONLY | O_NOCTTY, 0);
      if (descriptor_ < 0) fail(errno, "opening it for writing");
      return;
    }
    // A rename would bypass the write protection of the old file.
    if (::access(path_.c_str(), W_OK) != 0) fail(errno, "opening it for writing");
    target_ = std::filesystem::canonical(path_);
    open_temporary();
    (void)::fchmod(descriptor_, old.st_mode & 07777);
    return;
  }
  if (errno != ENOENT && errno != ENOTDIR) fail(errno, "looking at it");
  if (std::error_code ignored; std::filesystem::is_symlink(path_, ignored)) {
    throw usage_error(path_.string() + " is a symbolic link to nothing: remove it or create what it names");
  }
  open_temporary();
}

atomic_file::~atomic_file() { discard(); }

void atomic_file::open_temporary() {
  // O_EXCL and a generated name, not mkstemp: the file gets the permissions that the umask gives any new file.
  static std::atomic<unsigned> counter = 0;
  std::filesystem::path const folder = folder_of(target_);
  std::string const stem = temporary_stem(target_) + std::to_string(::getpid()) + ".";
  for (int attempt = 0; attempt < name_attempts; ++attempt) {
    temporary_ = folder / (stem + std::to_string(counter.fetch_add(1, std::memory_order_relaxed)));
    temporary_ += temporary_ending;
    descriptor_ = open_retrying(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (descriptor_ >= 0 || errno != EEXIST) break;
  }
  if (descriptor_ >= 0) {
    // The lock lasts until the descriptor is closed, so it is free once this process has ended in any way:
    // remove_leftovers checks it.
    (void)::flock(descriptor_, LOCK_EX | LOCK_NB);
    return;
  }
  int const code = errno;
  temporary_.clear();  // it belongs to another process, or is not there
  if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored) && (code == ENOENT || code == ENOTDIR))
    throw usage_error(path_.string() + ": there is no folder " + folder.string() + ": make it first");
  fail(code, "creating a temporary file beside it");
}

void atomic_file::write(std::string_view text) {
  if (descriptor_ < 0) throw usage_error(path_.string() + " was written and closed already");
  if (buffer_.size() + text.size() > buffer_bytes) flush();
  if (text.size() > buffer_bytes) {
    put(text);
  } else {
    buffer_ += text;
  }
}

void atomic_file::flush() {
  put(buffer_);
  buffer_.clear();
}

void atomic_file::put(std::string_view text) {
  while (!text.empty()) {
    ssize_t const written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      fail(errno, "writing it");
    }
  }
}

void atomic_file::overwrite_begin(std::string_view text) {
  if (descriptor_ < 0) throw usage_error(path_.string() + " was written and closed already");
  if (written_directly_) throw usage_error(path_.string() + " takes each byte once: nothing in it can be written over");
  flush();
  if (::lseek(descriptor_, 0, SEEK_SET) != 0) fail(errno, "going back to its first byte");
  put(text);
}

void atomic_file::commit() {
  if (descriptor_ < 0) throw usage_error(path_.string() + " was written and closed already");
  flush();
  // A pipe or a terminal has nothing to synchronise and returns EINVAL.
  if (!written_directly_ && ::fsync(descriptor_) != 0) fail(errno, "flushing it to the disk");
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail(errno, "closing it");
  if (written_directly_) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno, "renaming the temporary file");
  temporary_.clear();
  // The new name reaches the disk with its folder. The file is in place, whatever this returns.
  int const folder_descriptor = open_retrying(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (folder_descriptor >= 0) {
    (void)::fsync(folder_descriptor);
    ::close(folder_descriptor);
  }
}

void atomic_file::discard() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
    temporary_.clear();
  }
  buffer_.clear();
}

void atomic_file::fail(int code, char const* call) {
  discard();
  std::string reason = std::strerror(code);
  if (!written_directly_) reason += "; the old file, if any, is unchanged";
  throw device_error(code, reason, call, path_.string());
}

void remove_leftovers(std::filesystem::path const& path) noexcept try {
  std::error_code ignored;
  std::filesystem::path target = std::filesystem::canonical(path, ignored);
  if (ignored) target = path;
  std::string const stem = temporary_stem(target);
  for (std::filesystem::directory_iterator at(folder_of(target), ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    if (!is_temporary(at->path().filename().string(), stem)) continue;
    int const descriptor = open_retrying(at->path().c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(at->path().c_str());
    ::close(descriptor);
  }
} catch (...) {
  // Out of memory: a later call removes them.
}

void check_writable(std::string_view option, std::filesystem::path const& path) {
  std::string const asked = std::string{option} + path.string();
  std::error_code ignored;
  if (path.empty()) throw usage_error(asked + "'': the name is empty: name a file");
  if (path.filename().empty() || std::filesystem::is_directory(path, ignored))
    throw usage_error(asked + ": it is a folder: name a file");
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) return;
  try {
    atomic_file const writable{path};
  } catch (usage_error const& reason) {
    throw usage_error(std::string{option} + reason.what());
  } catch (device_error const& reason) {
    throw usage_error(asked + " cannot be written: " + std::strerror(reason.code()) +
                      ": name a file in a folder that you may write to");
  }
}

void write_file(std::filesystem::path const& path, std::string_view text) {
  atomic_file file(path);
  file.write(text);
  file.commit();
}

std::string read_file(std::filesystem::path const& path, std::size_t limit_bytes) {
  int const descriptor = open_retrying(path.c_str(), O_RDONLY, 0);
  if (descriptor < 0) throw input_error(path.string(), 0, std::string{"cannot be opened: "} + std::strerror(errno));
  std::string text;
  ssize_t got = 0;
  std::string block(buffer_bytes, '\0');
  while ((got = ::read(descriptor, block.data(), block.size())) != 0 && text.size() <= limit_bytes) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    text.append(block, 0, static_cast<std::size_t>(got));
  }
  int const code = errno;
  ::close(descriptor);
  if (got < 0) throw input_error(path.string(), 0, std::string{"cannot be read: "} + std::strerror(code));
  if (text.size() > limit_bytes) {
    throw input_error(path.string(), 0,
                      "is larger than " + std::to_string(limit_bytes) + " bytes, the limit for this file");
  }
  return text;
}

}  // namespace lull
