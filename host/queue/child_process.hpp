// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace lull::queue {

/// How a program ended.
struct program_end {
  int code = 0;    // if no signal ended it
  int signal = 0;  // 0: none

  bool operator==(program_end const&) const = default;
};

/// A program in a process group of its own, which dies with the thread that started it. It reads nothing, and what it
/// prints is added to a file. Not thread-safe.
class child_process {
 public:
  /// `folder`: where it runs; empty: here. Throws usage_error if there is no such program or folder, device_error.
  child_process(std::vector<std::string> const& arguments, std::filesystem::path const& log,
                std::string const& folder = {});
  /// Kills what still runs.
  ~child_process();
  child_process(child_process const&) = delete;
  child_process& operator=(child_process const&) = delete;

  /// Returns nothing while it runs. What it has started and left is killed when it has ended. Does not wait.
  std::optional<program_end> end();
  /// Sends a signal to all of its group.
  void signal(int which) noexcept;

 private:
  pid_t process_ = -1;
  std::optional<program_end> end_{};
};

}  // namespace lull::queue
