// SPDX-License-Identifier: Apache-2.0
#include <lull/host/attach/local_socket.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <lull/host/attach/system_error.hpp>
#include <lull/host/error.hpp>

namespace lull::attach {

namespace {

constexpr int max_waiting = 16;  // connections that are not accepted yet
constexpr std::string_view scheme = "unix:";
#ifdef SO_PASSRIGHTS
constexpr int so_passrights = SO_PASSRIGHTS;
#else
constexpr int so_passrights = 83;
#endif

process_descriptor new_socket() {
  auto made =
      process_descriptor::opened_by([] { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  if (!made) throw system_error("socket");
  return made;
}

sockaddr_un address_of(std::string const& path) {
  sockaddr_un found{};
  found.sun_family = AF_UNIX;
  if (path.size() >= sizeof found.sun_path)
    throw usage_error{"the socket's path " + path + " has " + std::to_string(path.size()) +
                      " bytes: it must have at most " + std::to_string(sizeof found.sun_path - 1)};
  std::memcpy(found.sun_path, path.c_str(), path.size() + 1);
  return found;
}

bool connects(process_descriptor const& socket, sockaddr_un const& to) {
  return ::connect(socket.get(), reinterpret_cast<sockaddr const*>(&to), sizeof to) == 0;
}

std::string folder_of(std::string const& path) { return std::filesystem::path{path}.parent_path().string(); }

/// Returns what keeps other trainers from taking over a socket of that folder at the same time.
process_descriptor locked(std::string const& folder) {
  auto made = process_descriptor::opened_by([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  auto const give_up = std::chrono::steady_clock::now() + std::chrono::seconds{1};
  while (made && ::flock(made.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() >= give_up)
      throw usage_error{"the socket's folder " + folder +
                        " is locked, as one where jobs are saved: name another folder for the socket"};
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return made;
}

/// Another user could put his own socket there.
void require_own_folder(std::string const& folder) {
  struct stat about {};
  if (::stat(folder.c_str(), &about) != 0)
    throw usage_error{"the socket's folder " + folder + " cannot be used: " + std::strerror(errno)};
  bool const others_write = (about.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  bool const is_own = about.st_uid == ::geteuid() || about.st_uid == 0;
  if (!S_ISDIR(about.st_mode) || others_write || !is_own)
    throw usage_error{"the socket's folder " + folder +
                      " is not this user's alone to write: name one that is, such as $XDG_RUNTIME_DIR, or make one "
                      "with mkdir -m 700"};
}

/// Removes a socket that a process has left. Throws if it is something else, or a process listens there.
void remove_left(std::string const& path, sockaddr_un const& address) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0) return;
  if (!S_ISSOCK(about.st_mode)) throw usage_error{path + " exists and is no socket: name another path to share at"};
  if (connects(new_socket(), address) || errno == EAGAIN)
    throw usage_error{"another process shares its bubbles at " + path + ": name another path, one for each trainer"};
  if (errno == ECONNREFUSED) ::unlink(path.c_str());
}

}  // namespace

std::string socket_path(std::string const& address, char const* option) {
  if (address.substr(0, scheme.size()) == scheme && address.size() > scheme.size())
    return std::filesystem::absolute(address.substr(scheme.size())).string();
  throw usage_error{std::string{option} + " is '" + address + "': it must be unix:PATH, the path of a local socket"};
}

connection::connection(process_descriptor socket) : socket_(std::move(socket)) {
  ucred who{};
  socklen_t bytes = sizeof who;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) throw system_error("getsockopt");
  other_ = {who.pid, who.uid};
  if (other_.process == 0) return;
  process_ = process_descriptor::opened_by(
      [&] { return static_cast<int>(::syscall(SYS_pidfd_open, other_.process, 0)); });  // Linux 5.3
}

bool connection::signal(int number) const noexcept {
  if (!process_ || other_.process == ::getpid()) return false;
  return ::syscall(SYS_pidfd_send_signal, process_.get(), number, nullptr, 0) == 0;  // Linux 5.1
}

bool connection::send_bytes(void const* from, std::size_t bytes, int with) noexcept {
  iovec part{const_cast<void*>(from), bytes};
  msghdr what{};
  what.msg_iov = &part;
  what.msg_iovlen = 1;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  if (with >= 0) {
    what.msg_control = room;
    what.msg_controllen = sizeof room;
    cmsghdr* const rights = CMSG_FIRSTHDR(&what);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &with, sizeof with);
  }
  return ::sendmsg(socket_.get(), &what, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes);
}

bool connection::is_readable_by(std::chrono::steady_clock::time_point until) const noexcept {
  for (;;) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd waits{socket_.get(), POLLIN, 0};
    int const found = ::poll(&waits, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (found > 0) return true;
    if (left.count() <= 0 || (found < 0 && errno != EINTR)) return false;
  }
}

connection::outcome connection::receive_bytes(void* into, std::size_t bytes, std::size_t& got,
                                              process_descriptor* with) noexcept {
  iovec part{into, bytes};
  msghdr what{};
  what.msg_iov = &part;
  what.msg_iovlen = 1;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  ssize_t length = 0;
  auto const receive = [&] { length = ::recvmsg(socket_.get(), &what, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); };
  if (with == nullptr) {
    receive();  // the system closes the descriptors that come
  } else {
    what.msg_control = room;
    what.msg_controllen = CMSG_LEN(sizeof(int));  // of more than one the system closes the others
    *with = process_descriptor::opened_by([&] {
      receive();
      cmsghdr const* const rights = length > 0 ? CMSG_FIRSTHDR(&what) : nullptr;
      if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS || rights->cmsg_len != CMSG_LEN(sizeof(int))) return -1;
      int found = -1;
      std::memcpy(&found, CMSG_DATA(rights), sizeof found);
      return found;
    });
  }
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return outcome::nothing;
  if (length <= 0 || (what.msg_flags & MSG_TRUNC) != 0) return outcome::gone;
  got = static_cast<std::size_t>(length);
  return outcome::received;
}

listening_socket::listening_socket(std::string path) : path_(std::move(path)), socket_(new_socket()) {
  sockaddr_un const address = address_of(path_);
  std::string const folder = folder_of(path_);
  require_own_folder(folder);
  process_descriptor const held = locked(folder);
  remove_left(path_, address);
  // A worker has no descriptor to send. Linux 6.16; before, the system closes what comes.
  int const none = 0;
  static_cast<void>(::setsockopt(socket_.get(), SOL_SOCKET, so_passrights, &none, sizeof none));
  if (::fchmod(socket_.get(), S_IRUSR | S_IWUSR) != 0) throw system_error("fchmod");  // of the file that bind makes
  if (::bind(socket_.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0)
    throw usage_error{"the socket " + path_ + " cannot be made: " + std::strerror(errno)};
  if (::listen(socket_.get(), max_waiting) != 0) throw system_error("listen");
  struct stat about {};
  if (::stat(path_.c_str(), &about) != 0) throw system_error("stat");
  device_ = about.st_dev;
  file_ = about.st_ino;
}

listening_socket::~listening_socket() {
  struct stat about {};
  if (::lstat(path_.c_str(), &about) == 0 && about.st_dev == device_ && about.st_ino == file_) ::unlink(path_.c_str());
}

std::optional<connection> listening_socket::accept(std::optional<uid_t>& refused) {
  refused.reset();
  auto made = process_descriptor::opened_by(
      [&] { return ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
  if (!made) return std::nullopt;
  connection found{std::move(made)};
  if (found.other_end().user == ::geteuid()) return found;
  refused = found.other_end().user;
  return std::nullopt;
}

std::optional<connection> connect_to(std::string const& path) {
  sockaddr_un const address = address_of(path);
  auto made = new_socket();
  if (!connects(made, address)) {
    if (errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN) return std::nullopt;
    throw usage_error{"the trainer's socket " + path + " cannot be used: " + std::strerror(errno) +
                      "; only the trainer's own user may attach"};
  }
  connection found{std::move(made)};
  if (found.other_end().user != ::geteuid())
    throw usage_error{"the trainer at " + path + " belongs to user " + std::to_string(found.other_end().user) +
                      ", and this process to user " + std::to_string(::geteuid()) +
                      ": only the trainer's own user may attach"};
  return found;
}

}  // namespace lull::attach
