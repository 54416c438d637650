// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace lull {

/// Owns a file descriptor that belongs to this process alone: a forked child closes its copy. Otherwise a data loader
/// that outlives a killed training would keep its locks, and others would not see its sockets close.
class process_descriptor {
 public:
  process_descriptor() = default;
  /// Calls `open`, which must not wait: a fork waits for it. Negative: nothing was opened, and errno is as `open` left
  /// it.
  template <class Open>
  static process_descriptor opened_by(Open&& open) {
    no_fork const meanwhile;
    int const made = open();
    meanwhile.keep(made);
    return process_descriptor{made};
  }
  process_descriptor(process_descriptor&& other) noexcept : of_(std::exchange(other.of_, -1)) {}
  process_descriptor& operator=(process_descriptor&& other) noexcept {
    process_descriptor taken{std::move(other)};
    std::swap(of_, taken.of_);
    return *this;
  }
  /// Closes it, unless a fork has: another file may have its number by now.
  ~process_descriptor();

  int get() const noexcept { return of_; }
  explicit operator bool() const noexcept { return of_ >= 0; }

 private:
  /// While it lives this process does not fork.
  class no_fork {
   public:
    no_fork();
    ~no_fork();
    no_fork(no_fork const&) = delete;
    no_fork& operator=(no_fork const&) = delete;
    /// Has children close a descriptor, if it is one.
    void keep(int descriptor) const;
  };

  explicit process_descriptor(int of) noexcept : of_(of) {}

  int of_ = -1;
};

}  // namespace lull
