// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::queue {

/// Stands between a client and a server's socket, one connection at a time, and cuts it once where a test says so.
class cut_line {
 public:
  enum cut : int {
    none,
    before_the_request,  // the server does not hear it
    after_the_answer,    // the server has done it, and the client does not hear so
    silence              // the client waits
  };

  explicit cut_line(std::string const& server_folder) : to_(server_folder + name) {
    void* const page = ::mmap(nullptr, sizeof *next_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error{"mmap"};
    next_ = new (page) std::atomic<int>{none};
    int const listens = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un const here = address_of(folder_.at("") + (name + 1));
    if (::bind(listens, reinterpret_cast<sockaddr const*>(&here), sizeof here) != 0 || ::listen(listens, 8) != 0)
      throw std::runtime_error{"a test's socket"};
    child_ = test::forked([&] {
      for (;;) {
        int const client = ::accept4(listens, nullptr, nullptr, SOCK_CLOEXEC);
        if (client >= 0) serve(client);
      }
    });
    ::close(listens);
  }
  ~cut_line() {
    test::kill_child(child_);
    ::munmap(next_, sizeof *next_);
  }
  cut_line(cut_line const&) = delete;
  cut_line& operator=(cut_line const&) = delete;

  /// Cuts at the next request.
  void at_next(cut how) { next_->store(how, std::memory_order_relaxed); }  // one word, which orders nothing else
  bool is_cut() const { return next_->load(std::memory_order_relaxed) == none; }
  std::string folder() const { return folder_.path(); }

 private:
  static constexpr char const* name = "/.s.PGSQL.5432";

  static sockaddr_un address_of(std::string const& path) {
    sockaddr_un made{};
    made.sun_family = AF_UNIX;
    if (path.size() >= sizeof made.sun_path) throw std::runtime_error{"a socket's name is too long: " + path};
    std::memcpy(made.sun_path, path.c_str(), path.size());
    return made;
  }

  void serve(int client) {
    int const server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un const there = address_of(to_);
    char piece[1 << 16];
    bool goes_on = ::connect(server, reinterpret_cast<sockaddr const*>(&there), sizeof there) == 0;
    while (goes_on) {
      pollfd both[] = {{.fd = client, .events = POLLIN, .revents = 0}, {.fd = server, .events = POLLIN, .revents = 0}};
      ::poll(both, 2, -1);
      if (both[0].revents != 0) {
        ssize_t const count = ::read(client, piece, sizeof piece);
        int const how = count > 0 ? next_->exchange(none, std::memory_order_relaxed) : none;
        goes_on = count > 0 && how != before_the_request;
        if (how == silence) {
          while (::read(client, piece, sizeof piece) > 0) {
          }
          goes_on = false;
        }
        goes_on = goes_on && ::write(server, piece, static_cast<std::size_t>(count)) == count;
        if (how == after_the_answer) goes_on = ::read(server, piece, sizeof piece) < 0;
      } else if (both[1].revents != 0) {
        ssize_t const count = ::read(server, piece, sizeof piece);
        goes_on = count > 0 && ::write(client, piece, static_cast<std::size_t>(count)) == count;
      }
    }
    ::close(server);
    ::close(client);
  }

  std::string const to_;
  test::test_folder const folder_;
  std::atomic<int>* next_ = nullptr;
  pid_t child_ = -1;
};

}  // namespace lull::queue
