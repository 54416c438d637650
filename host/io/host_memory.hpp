// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace lull {

/// Memory that may still be taken, and what limits it: "this computer", or "the control group PATH".
struct free_memory {
  std::uint64_t bytes = 0;
  std::string where;
};

/// Returns the least of the memory that Linux can give without swapping and of what this process's control groups
/// (versions 1 and 2) and the groups above them allow, less a sixteenth for what others take meanwhile. Files in the
/// page cache count as free, since the kernel drops them first. Where Linux tells nothing there is no limit. `root`
/// stands before /proc and /sys, for tests.
free_memory free_host_memory(std::filesystem::path const& root = "/");

/// "1.5 GiB"
std::string bytes_text(std::uint64_t bytes);

/// Throws limit_error unless so much host memory is free. `what` is the message's subject, `advice` what to do.
void require_host_memory(std::uint64_t bytes, std::string const& what, std::string const& advice,
                         free_memory const& host = free_host_memory());

/// Holds what reading a file needs against what was free before: once by the file's size, again as its text comes. All
/// figures are of the whole file, what is read already included.
class file_memory {
 public:
  /// `free`: what the file may take, instead of what is free now.
  file_memory(std::string path, std::string advice, std::optional<free_memory> const& free = {});

  /// Throws limit_error unless so much was free. Thread-safe.
  void require(std::uint64_t bytes) const;

 private:
  std::string path_;
  std::string advice_;
  free_memory free_;
};

}  // namespace lull
