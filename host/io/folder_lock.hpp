// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace lull {

/// Keeps other processes that run Lull out of a folder, as long as it lives or until the process has ended in whatever
/// way; nothing of it stays on the disk. A process that is forked meanwhile has no part in it. A file system without
/// such locks keeps no process out.
class folder_lock {
 public:
  /// Makes the folder where it is missing; none: nothing is held. Throws usage_error where another process has it; one
  /// that cannot be made or opened is not held, and the code that writes there reports it.
  explicit folder_lock(std::optional<std::string> const& folder);
  folder_lock(folder_lock const&) = delete;
  folder_lock& operator=(folder_lock const&) = delete;
  ~folder_lock();

 private:
  int descriptor_ = -1;
};

}  // namespace lull
