// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/// Which of a training's processes this is, from the variables of torchrun or Open MPI.
struct rank_place {
  int rank = 0;
  int world = 1;
  int local = 0;  // among those of this machine: its GPU
  int local_world = 1;
  std::string address = "127.0.0.1";  // of rank 0
  int port = 29500;
};

/// Throws std::runtime_error where the environment does not have them.
inline rank_place rank_from_environment() {
  auto const number = [](std::initializer_list<char const*> names, int otherwise) {
    for (char const* name : names) {
      char const* const text = std::getenv(name);
      if (text == nullptr) continue;
      std::string_view const whole{text};
      int value = 0;
      auto const [end, problem] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
      if (problem != std::errc{} || end != whole.data() + whole.size()) {
        throw std::runtime_error{std::string{name} + "=" + text + " is not a number"};
      }
      return value;
    }
    return otherwise;
  };
  rank_place me;
  me.rank = number({"RANK", "OMPI_COMM_WORLD_RANK"}, -1);
  me.world = number({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"}, -1);
  me.local = number({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"}, me.rank);
  me.local_world = number({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"}, me.world);
  me.port = number({"MASTER_PORT"}, me.port);
  if (char const* const address = std::getenv("MASTER_ADDR")) me.address = address;
  if (me.rank < 0 || me.world < 1 || me.rank >= me.world || me.port < 1 || me.port > 65'534) {
    throw std::runtime_error{
        "RANK, WORLD_SIZE and MASTER_PORT do not say which process this is: start it by scripts/ranks.py, torchrun or "
        "mpirun"};
  }
  return me;
}

/// NCCL's own waits have no limit: when this one is over the process ends, with a message and exit code 124.
inline void end_process_after(std::chrono::seconds limit) {
  std::signal(SIGALRM, [](int) {
    constexpr std::string_view text = "not done within the time limit: is the other rank there? This process ends.\n";
    [[maybe_unused]] auto const written = ::write(2, text.data(), text.size());
    ::_exit(124);
  });
  ::alarm(static_cast<unsigned>(limit.count()));
}

/// An uncaught error ends the process at once, with its message and exit code 1. Destructors do not run: they would
/// wait for the GPU, which may wait for another rank, which waits for this one.
inline void end_process_on_error() {
  std::set_terminate([] {
    try {
      if (std::exception_ptr const problem = std::current_exception()) std::rethrow_exception(problem);
    } catch (std::exception const& problem) {
      std::fprintf(stderr, "%s\n", problem.what());
    } catch (...) {
      std::fprintf(stderr, "an error of unknown kind\n");
    }
    std::fflush(nullptr);
    std::_Exit(1);
  });
}

/// TCP between rank 0 and each of the others, for what the ranks must agree on before NCCL is ready, and later. Not for
/// an untrusted network. Every wait has a limit; errors are std::runtime_error. Calls are collective: all ranks make
/// the same ones.
class rendezvous {
 public:
  static constexpr std::chrono::seconds limit{60};

  explicit rendezvous(rank_place me) : me_(std::move(me)) {
    if (me_.rank == 0) {
      welcome();
    } else {
      join();
    }
  }
  ~rendezvous() {
    for (int const each : peers_) ::close(each);
  }
  rendezvous(rendezvous const&) = delete;
  rendezvous& operator=(rendezvous const&) = delete;

  /// Rank 0's value.
  template <class T>
  T from_first(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    for (int const peer : peers_)
      me_.rank == 0 ? send_all(peer, &value, sizeof value) : receive_all(peer, &value, sizeof value);
    return value;
  }
  /// The values of all ranks, on rank 0; nothing elsewhere.
  template <class T>
  std::vector<T> to_first(T const& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (me_.rank != 0) {
      send_all(peers_.front(), &value, sizeof value);
      return {};
    }
    std::vector<T> all{value};
    for (int const peer : peers_) receive_all(peer, &all.emplace_back(), sizeof value);
    return all;
  }
  void barrier() {
    to_first(char{});
    from_first(char{});
  }

 private:
  using clock = std::chrono::steady_clock;

  [[noreturn]] void fail(std::string const& what) const {
    std::string const why = errno != 0 ? std::string{" ("} + std::strerror(errno) + ")" : "";
    throw std::runtime_error{"rank " + std::to_string(me_.rank) + ": " + what + why};
  }
  int port() const { return me_.port + 1; }  // torchrun listens on MASTER_PORT itself

  void welcome() {
    int const listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening < 0) fail("no socket");
    int const yes = 1;
    ::setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    bound_waits(listening);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_port = htons(static_cast<std::uint16_t>(port()));
    here.sin_addr.s_addr = htonl(INADDR_ANY);
    if (::bind(listening, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 ||
        ::listen(listening, me_.world) != 0) {
      ::close(listening);
      fail("cannot listen on port " + std::to_string(port()) + ", the one after MASTER_PORT");
    }
    peers_.assign(static_cast<std::size_t>(me_.world - 1), -1);
    for (int waiting = me_.world - 1; waiting > 0; --waiting) {
      int const peer = ::accept(listening, nullptr, nullptr);
      if (peer < 0) {
        ::close(listening);
        fail(std::to_string(waiting) + " of the other ranks did not come");
      }
      bound_waits(peer);
      int rank = 0;
      receive_all(peer, &rank, sizeof rank);
      if (rank < 1 || rank >= me_.world || peers_.at(static_cast<std::size_t>(rank - 1)) != -1) {
        fail("somebody came as rank " + std::to_string(rank));
      }
      peers_[static_cast<std::size_t>(rank - 1)] = peer;
    }
    ::close(listening);
  }

  void join() {
    addrinfo asked{};
    asked.ai_family = AF_INET;
    asked.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(me_.address.c_str(), std::to_string(port()).c_str(), &asked, &found) != 0) {
      fail("nobody knows MASTER_ADDR=" + me_.address);
    }
    for (auto const give_up = clock::now() + limit;;) {
      int const first = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (first >= 0 && ::connect(first, found->ai_addr, found->ai_addrlen) == 0) {
        ::freeaddrinfo(found);
        peers_ = {first};
        bound_waits(first);
        send_all(first, &me_.rank, sizeof me_.rank);
        return;
      }
      if (first >= 0) ::close(first);
      if (clock::now() >= give_up) {
        ::freeaddrinfo(found);
        fail("rank 0 does not answer at " + me_.address + ":" + std::to_string(port()));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
  }

  static void bound_waits(int socket) {
    timeval const most{.tv_sec = limit.count(), .tv_usec = 0};
    int const yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }

  void send_all(int to, void const* data, std::size_t bytes) const {
    for (auto const* at = static_cast<char const*>(data); bytes != 0;) {
      ssize_t const sent = ::send(to, at, bytes, MSG_NOSIGNAL);
      if (sent <= 0) fail("another rank takes no data: it has ended, or hangs");
      at += sent;
      bytes -= static_cast<std::size_t>(sent);
    }
  }
  void receive_all(int from, void* data, std::size_t bytes) const {
    for (auto* at = static_cast<char*>(data); bytes != 0;) {
      ssize_t const came = ::recv(from, at, bytes, 0);
      if (came == 0) errno = 0;
      if (came <= 0) fail("nothing came from another rank: it has ended, or hangs");
      at += came;
      bytes -= static_cast<std::size_t>(came);
    }
  }

  rank_place me_;
  std::vector<int> peers_;  // sockets: of rank 0 to the others, of the others to rank 0
};
