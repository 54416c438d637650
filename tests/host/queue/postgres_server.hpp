// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/queue/postgres_connection.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::queue {

/// A server of PostgreSQL for one test program, in a temporary folder and on a Unix socket alone. It belongs to another
/// user than root, which initdb refuses, and ends with the process that made it, in whatever way that ends.
class postgres_server {
 public:
  /// Returns the folder of its programs; nothing: it is not installed.
  static std::optional<std::filesystem::path> programs() {
    std::optional<std::filesystem::path> newest;
    std::error_code none;
    for (auto const& each : std::filesystem::directory_iterator{"/usr/lib/postgresql", none}) {
      std::filesystem::path const found = each.path() / "bin";
      bool const is_there = std::filesystem::exists(found / "initdb") && std::filesystem::exists(found / "postgres");
      if (is_there && (!newest || *newest < found)) newest = found;
    }
    return newest;
  }

  postgres_server() {
    std::string name = temporary() + "lull_postgres_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
    folder_ = name;
    if (::geteuid() == 0) {
      passwd const* user = ::getpwnam("postgres");
      if (user == nullptr) user = ::getpwnam("nobody");
      if (user == nullptr) throw std::runtime_error{"there is no user besides root for a server"};
      user_ = user->pw_uid;
      group_ = user->pw_gid;
      if (::chown(folder_.c_str(), user_, group_) != 0) throw std::runtime_error{"chown"};
    }
    int status = 0;
    ::waitpid(started({programs().value() / "initdb", "-D", data(), "-U", "postgres", "-A", "trust", "-E", "UTF8",
                       "--locale=C", "--no-sync", "--no-instructions"}),
              &status, 0);
    if (status != 0) throw std::runtime_error{"initdb failed: see " + log()};
    start();
  }
  ~postgres_server() {
    if (::getpid() != made_by_) return;
    ::kill(server_, SIGQUIT);
    if (!within_time([&] { return ::waitpid(server_, nullptr, WNOHANG) != 0; })) kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  postgres_server(postgres_server const&) = delete;
  postgres_server& operator=(postgres_server const&) = delete;

  /// Starts it, and returns when it answers. What is left of one that was killed may have to end first.
  void start() {
    bool runs = false;
    await_that(
        [&] {
          if (!runs)
            server_ =
                started({programs().value() / "postgres", "-D", data(), "-k", folder_, "-c", "listen_addresses=", "-c",
                         "fsync=on", "-c", "dynamic_shared_memory_type=mmap", "-c", "shared_buffers=16MB"});
          runs = ::waitpid(server_, nullptr, WNOHANG) == 0;
          std::this_thread::sleep_for(std::chrono::milliseconds{20});
          return runs && answers();
        },
        std::chrono::minutes{3});
  }
  /// Kills it as a loss of power would, but that the operating system keeps what was written.
  void kill() {
    ::kill(server_, SIGKILL);
    ::waitpid(server_, nullptr, 0);
  }
  /// Makes the database "lull", empty.
  void make_database() {
    run("DROP DATABASE IF EXISTS lull WITH (FORCE)", "postgres");
    run("CREATE DATABASE lull", "postgres");
  }
  std::string address(std::string const& user = "postgres", std::string const& database = "lull") const {
    return "postgresql://" + user + "@/" + database + "?host=" + folder_;
  }
  /// Runs a statement as the server's superuser.
  void run(std::string const& sql, std::string const& database = "lull") {
    postgres_connection on{address("postgres", database)};
    on.run({.what = "a test's statement", .sql = sql.c_str(), .is_prepared = false});
  }
  /// Waits until no more sessions than that use the database "lull".
  void await_sessions(int at_most) {
    postgres_connection on{address("postgres", "postgres")};
    await_that([&] {
      return on.run({.what = "counting", .sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'lull'"})
                 .number(0, 0) <= at_most;
    });
  }
  std::string const& folder() const { return folder_; }

 private:
  /// Returns a folder in memory where there is room: a server that starts again flushes its files, one by one, and a
  /// disk that others write to takes seconds for it.
  static std::string temporary() {
    constexpr std::uintmax_t min_free = std::uintmax_t{512} << 20;
    std::error_code none;
    auto const memory = std::filesystem::space("/dev/shm", none);
    bool const is_there = !none && memory.available >= min_free && ::access("/dev/shm", W_OK) == 0;
    return is_there ? "/dev/shm/" : testing::TempDir();
  }
  std::string data() const { return folder_ + "/data"; }
  std::string log() const { return folder_ + "/log"; }

  bool answers() {
    try {
      run("SELECT 1", "postgres");
      return true;
    } catch (device_error const&) {
      return false;
    }
  }

  pid_t started(std::vector<std::string> arguments) const {
    pid_t const child = ::fork();
    if (child != 0) return child;
    bool const is_other =
        ::geteuid() != 0 || (::setgroups(0, nullptr) == 0 && ::setgid(group_) == 0 && ::setuid(user_) == 0);
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);  // which ends the server at once
    if (!is_other || ::getppid() != made_by_ || ::chdir(folder_.c_str()) != 0) ::_exit(126);
    if (std::freopen("/dev/null", "r", stdin) == nullptr || std::freopen(log().c_str(), "a", stdout) == nullptr ||
        std::freopen(log().c_str(), "a", stderr) == nullptr)
      ::_exit(126);
    std::vector<char*> words;
    for (std::string& each : arguments) words.push_back(each.data());
    words.push_back(nullptr);
    ::execv(words.front(), words.data());
    ::_exit(127);
  }

  pid_t const made_by_ = ::getpid();
  std::string folder_;
  uid_t user_ = 0;
  gid_t group_ = 0;
  pid_t server_ = -1;
};

/// Returns this program's server, which starts when a test first asks for it.
inline postgres_server& own_server() {
  static postgres_server one;
  return one;
}

}  // namespace lull::queue
