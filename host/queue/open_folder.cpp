// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/open_folder.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lull/host/error.hpp>
#include <lull/host/queue/job_id.hpp>
#include <lull/host/queue/uninterrupted.hpp>

namespace lull::queue {

namespace {

constexpr mode_t own_file = S_IRUSR | S_IWUSR;
constexpr int max_listings = 3;

}  // namespace

open_folder open_folder::own(std::filesystem::path const& path) {
  auto made = process_descriptor::opened_by(
      [&] { return uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }); });
  if (!made) throw usage_error{"the folder " + path.string() + " cannot be opened: " + std::strerror(errno)};
  open_folder found{std::move(made), path};
  struct stat about {};
  if (::fstat(found.of_.get(), &about) != 0) found.fail("fstat", "");
  if (about.st_uid != ::geteuid() || (about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw usage_error{"the folder " + path.string() + " is not this user's alone: chmod 700 it, or name another"};
  return found;
}

void open_folder::fail(char const* call, std::string const& name) const {
  int const code = errno;
  std::string const where = name.empty() ? path_.string() : (path_ / name).string();
  throw device_error{code, std::strerror(code), call, where};
}

open_folder open_folder::below(std::string const& name) const {
  auto const open = [&] {
    return process_descriptor::opened_by([&] {
      return uninterrupted(
          [&] { return ::openat(of_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
    });
  };
  auto made = open();
  if (!made && errno == ENOENT) {
    if (::mkdirat(of_.get(), name.c_str(), S_IRWXU) != 0 && errno != EEXIST) fail("mkdir", name);
    flush_names();
    made = open();
  }
  if (!made) fail("open", name);
  return open_folder{std::move(made), path_ / name};
}

void open_folder::write_new(std::string const& name, std::string_view text, flushing when) const {
  auto const file = process_descriptor::opened_by([&] {
    constexpr int how = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    return uninterrupted([&] { return ::openat(of_.get(), name.c_str(), how, own_file); });
  });
  if (!file) fail("open", name);
  auto const fail_without = [&](char const* call) {  // a half of it would stay on a full disk
    int const code = errno;
    ::unlinkat(of_.get(), name.c_str(), 0);
    errno = code;
    fail(call, name);
  };
  while (!text.empty()) {
    ssize_t const done = uninterrupted([&] { return ::write(file.get(), text.data(), text.size()); });
    if (done <= 0) fail_without("write");
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  if (when == flushing::flush && uninterrupted([&] { return ::fsync(file.get()); }) != 0) fail_without("fsync");
}

void open_folder::replace(std::string const& name, std::string_view text, flushing when) const {
  std::string const other = name + "." + make_token();
  write_new(other, text, when);
  if (::renameat(of_.get(), other.c_str(), of_.get(), name.c_str()) == 0) return;
  int const code = errno;
  ::unlinkat(of_.get(), other.c_str(), 0);
  errno = code;
  fail("rename", name);
}

bool open_folder::link(std::string const& from, std::string const& to) const {
  if (::linkat(of_.get(), from.c_str(), of_.get(), to.c_str(), 0) == 0) return true;
  if (errno != EEXIST) fail("link", to);
  return false;
}

bool open_folder::rename(std::string const& from, std::string const& to) const {
  if (uninterrupted([&] { return ::renameat(of_.get(), from.c_str(), of_.get(), to.c_str()); }) == 0) return true;
  int const code = errno;
  // A file server that did it may have lost its answer, and then says that there is no such file.
  struct stat about {};
  if (::fstatat(of_.get(), to.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0) return true;
  errno = code;
  if (code != ENOENT) fail("rename", from);
  return false;
}

bool open_folder::has(std::string const& name) const {
  if (::faccessat(of_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno != ENOENT) fail("access", name);
  return false;
}

bool open_folder::remove(std::string const& name) const {
  if (::unlinkat(of_.get(), name.c_str(), 0) == 0) return true;
  if (errno != ENOENT) fail("unlink", name);
  return false;
}

std::optional<std::string> open_folder::read(std::string const& name, std::size_t max_bytes) const {
  auto const file = process_descriptor::opened_by([&] {
    constexpr int how = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    return uninterrupted([&] { return ::openat(of_.get(), name.c_str(), how); });
  });
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) fail("open", name);
  if (!S_ISREG(about.st_mode)) throw input_error{(path_ / name).string(), 0, "is no ordinary file"};
  std::string text(std::min(static_cast<std::size_t>(about.st_size), max_bytes) + 1, '\0');
  std::size_t got = 0;
  for (;;) {
    ssize_t const more = uninterrupted([&] { return ::read(file.get(), text.data() + got, text.size() - got); });
    if (more < 0) fail("read", name);
    if (more == 0) break;
    got += static_cast<std::size_t>(more);
    if (got > max_bytes)
      throw input_error{(path_ / name).string(), 0, "is larger than " + std::to_string(max_bytes) + " bytes"};
  }
  text.resize(got);
  return text;
}

/// While a name changes, a listing may have neither the one nor the other; so it is made again if any has changed.
std::vector<std::string> open_folder::names() const {
  std::vector<std::string> found;
  for (int i = 0; i < max_listings; ++i) {
    int const descriptor = uninterrupted([&] { return ::openat(of_.get(), ".", O_RDONLY | O_CLOEXEC); });
    if (descriptor < 0) fail("open", "");
    std::unique_ptr<DIR, int (*)(DIR*)> const all{::fdopendir(descriptor), ::closedir};
    if (all == nullptr) ::close(descriptor);
    if (all == nullptr) fail("opendir", "");
    moment const before = changed();
    errno = 0;
    while (dirent const* const each = ::readdir(all.get())) {
      if (each->d_name[0] != '.') found.emplace_back(each->d_name);
    }
    if (errno != 0) fail("readdir", "");
    if (changed() == before) break;
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

open_folder::moment open_folder::changed() const {
  struct stat about {};
  if (::fstat(of_.get(), &about) != 0) fail("fstat", "");
  return {about.st_mtim.tv_sec, about.st_mtim.tv_nsec};
}

std::int64_t open_folder::written_s(std::string const& name) const {
  struct stat about {};
  if (::fstatat(of_.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0) return about.st_mtim.tv_sec;
  if (errno != ENOENT) fail("stat", name);
  return std::time(nullptr);
}

bool open_folder::is_at_its_path() const noexcept {
  struct stat here {};
  struct stat there {};
  return ::fstat(of_.get(), &here) == 0 && ::stat(path_.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

void open_folder::flush_names() const {
  if (uninterrupted([&] { return ::fsync(of_.get()); }) != 0) fail("fsync", "");
}

void open_folder::flush_all() const {
  if (uninterrupted([&] { return ::syncfs(of_.get()); }) != 0) fail("syncfs", "");
}

}  // namespace lull::queue
