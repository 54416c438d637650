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
    begin_opening();
    return process_descriptor{end_opening(open())};
  }
  process_descriptor(process_descriptor&& other) noexcept : of_(std::exchange(other.of_, -1)) {}
  process_descriptor& operator=(process_descriptor&& other) noexcept {
    std::swap(of_, other.of_);
    return *this;
  }
  /// Closes it, unless a fork has: another file may have its number by now.
  ~process_descriptor();

  int get() const noexcept { return of_; }
  explicit operator bool() const noexcept { return of_ >= 0; }

 private:
  explicit process_descriptor(int of) noexcept : of_(of) {}
  static void begin_opening();
  static int end_opening(int made) noexcept;

  int of_ = -1;
};

}  // namespace lull
