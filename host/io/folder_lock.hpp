// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <lull/host/io/process_descriptor.hpp>

namespace lull {

/// Keeps other processes that run Lull out of a folder for its lifetime, or until the process has ended in any way. It
/// leaves nothing on the disk. A forked child does not hold the lock. A file system without such locks keeps no process
/// out.
class folder_lock {
 public:
  /// Creates the folder if it is missing; none: locks nothing. Throws usage_error if another process has the folder. A
  /// folder that cannot be made or opened is not locked, and the code that writes there reports it.
  explicit folder_lock(std::optional<std::string> const& folder);
  folder_lock(folder_lock const&) = delete;
  folder_lock& operator=(folder_lock const&) = delete;

 private:
  process_descriptor descriptor_;
};

}  // namespace lull
