// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include <sys/types.h>

#include <lull/host/attach/messages.hpp>
#include <lull/host/attach/shared_memory.hpp>

namespace lull::attach {

/// Returns the path of "unix:PATH". Throws usage_error for anything else; `option` names what was asked for.
std::string socket_path(std::string const& address, char const* option);

/// The process at the other end.
struct peer {
  pid_t process = 0;  // 0: it is in another container
  uid_t user = 0;
};

/// One end of a connection that keeps messages whole. Not thread-safe.
class connection {
 public:
  connection() = default;
  explicit connection(process_descriptor socket);  // connected

  int get() const noexcept { return socket_.get(); }
  peer const& other_end() const noexcept { return other_; }
  /// Readable when the other process has ended; negative where that cannot be told.
  int end_of_process() const noexcept { return process_.get(); }
  /// Sends the other process a signal. Returns false where that is not possible, and for this process.
  bool signal(int number) const noexcept;

  /// Sends a message, with a descriptor if `with` is not negative. Does not wait. Returns false if the other end has
  /// gone or does not read.
  template <message T>
  bool send(T const& what, int with = -1) noexcept {
    return send_bytes(&what, sizeof what, with);
  }
  /// Waits for a message, or for the other end's end; returns false if the time is over first.
  bool is_readable_by(std::chrono::steady_clock::time_point until) const noexcept;
  enum class outcome { received, nothing, gone };
  /// Receives a message if there is one. `gone`: the other end is, or what it sent is no such message.
  template <message T>
  outcome receive(T& into, process_descriptor* with = nullptr) noexcept {
    std::size_t got = 0;
    outcome const found = receive_bytes(&into, sizeof into, got, with);
    return found == outcome::received && got != sizeof into ? outcome::gone : found;
  }
  /// The same of a message that begins with a greeting. That of another protocol has any size: then only its greeting
  /// is there.
  template <message T>
  outcome receive_greeted(T& into, process_descriptor* with = nullptr) noexcept {
    std::array<char, max_greeted> room{};
    std::size_t got = 0;
    outcome const found = receive_bytes(room.data(), room.size(), got, with);
    if (found != outcome::received) return found;
    if (got < sizeof(greeting)) return outcome::gone;
    std::memcpy(&into.from, room.data(), sizeof into.from);
    if (into.from.number != protocol) return outcome::received;
    if (got != sizeof into) return outcome::gone;
    std::memcpy(&into, room.data(), sizeof into);
    return outcome::received;
  }

 private:
  bool send_bytes(void const* from, std::size_t bytes, int with) noexcept;
  static constexpr std::size_t max_greeted = 4'096;
  outcome receive_bytes(void* into, std::size_t bytes, std::size_t& got, process_descriptor* with) noexcept;

  process_descriptor socket_;
  process_descriptor process_;
  peer other_;
};

/// A trainer's socket in the file system. Nobody but its user may connect.
class listening_socket {
 public:
  /// Takes the place of a socket on which no process listens. Throws usage_error if another process listens there, if
  /// the path is too long or something else, or if others may write to its folder; device_error.
  explicit listening_socket(std::string path);
  /// Removes it, unless another has taken its place.
  ~listening_socket();
  listening_socket(listening_socket const&) = delete;
  listening_socket& operator=(listening_socket const&) = delete;

  int get() const noexcept { return socket_.get(); }
  std::string const& path() const noexcept { return path_; }
  /// Returns a connection of this user's if one waits. Another user's is closed, and its id returned in `refused`.
  std::optional<connection> accept(std::optional<uid_t>& refused);

 private:
  std::string const path_;
  process_descriptor socket_;
  dev_t device_ = 0;
  ino_t file_ = 0;
};

/// Connects to a trainer's socket. Nothing if none listens there now. Throws usage_error if it is another user's or not
/// this user's to open; device_error.
std::optional<connection> connect_to(std::string const& path);

}  // namespace lull::attach
