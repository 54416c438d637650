// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <lull/host/attach/local_socket.hpp>

namespace lull::attach {

/// Asks a trainer that shares its bubbles for its state. Not thread-safe.
class observer {
 public:
  /// Returns null if no trainer listens there now. Throws as attachment::to.
  static std::unique_ptr<observer> of(std::string const& path);

  pid_t trainer() const noexcept { return trainer_.other_end().process; }
  /// Returns the trainer's bubble report as JSON; empty while it has none, or when it has ended. Waits at most
  /// `at_most`.
  std::string state(std::chrono::milliseconds at_most);

 private:
  explicit observer(connection trainer) : trainer_(std::move(trainer)) {}

  connection trainer_;
  std::uint64_t asked_ = 0;
};

}  // namespace lull::attach
