// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace lull::test {

/// A child whose system calls its parent watches, refuses, or cuts short (ptrace). A call is one stop before and one
/// after it; between them the parent decides. Of the child's own children nothing is seen. Errors: std::runtime_error.
/// One thread makes all calls; a child whose parent dies is killed.
class traced_child {
 public:
  struct system_call {
    long number = -1;
    std::array<std::uint64_t, 6> arguments{};
    std::int64_t result = 0;  // of a call that was made; an error is negative
  };

  /// Returns whether the system lets a process trace its child, on a processor whose registers are known here.
  static bool is_possible();

  /// Forks. `before` comes first, and its calls are not watched; what throws ends the child with code 3.
  traced_child(std::function<void()> const& before, std::function<void()> const& watched);
  ~traced_child();
  traced_child(traced_child const&) = delete;
  traced_child& operator=(traced_child const&) = delete;

  /// Lets the child go on to its next call, which is not made yet. Returns false if there is none: it has ended.
  bool next();
  system_call const& call() const noexcept { return call_; }
  /// Has the call made. Returns false if the child has ended with it.
  bool make();
  /// Has the call not made: it returns that error.
  bool refuse(int error);
  /// Has a call that reads or writes do so for that many bytes at most.
  void shorten(std::size_t bytes);
  /// Kills the child where it is: a call that is not made yet never is.
  void kill();
  /// Returns the child's status, as of waitpid, once it has ended.
  int status() const noexcept { return status_; }

  std::string bytes(std::uint64_t address, std::size_t size) const;
  std::string text(std::uint64_t address) const;
  /// Returns the path of an open file of the child.
  std::filesystem::path path_of(std::uint64_t descriptor) const;

 private:
  bool to_stop();

  pid_t child_ = -1;
  int status_ = 0;
  bool has_ended_ = false;
  system_call call_{};
};

}  // namespace lull::test
