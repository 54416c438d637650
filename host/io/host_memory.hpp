// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace lull {

/// Free memory, and what limits it: "this computer", or "the control group PATH".
struct free_memory {
  std::uint64_t bytes = 0;
  std::string where;
};

/// Returns the smallest of: the memory that Linux can give without swapping; and what each control group of this
/// process (versions 1 and 2), and each group above, allows. Subtracts a sixteenth for what other processes take
/// meanwhile. Files in the page cache count as free, because the kernel drops them first. If Linux shows nothing, there
/// is no limit. `root` is put before /proc and /sys, for tests.
free_memory free_host_memory(std::filesystem::path const& root = "/");

/// "1.5 GiB"
std::string bytes_text(std::uint64_t bytes);

/// Throws limit_error unless this much host memory is free. `what` is the message's subject, `advice` what to do.
void require_host_memory(std::uint64_t bytes, std::string const& what, std::string const& advice,
                         free_memory const& host = free_host_memory());

/// Compares what reading a file needs with what was free before: first by the file's size, again as its text arrives.
/// All figures are of the whole file, including what is read already.
class file_memory {
 public:
  /// `free`: what the file may take, instead of what is free now.
  file_memory(std::string path, std::string advice, std::optional<free_memory> const& free = {});

  /// Throws limit_error unless this much was free. Thread-safe.
  void require(std::uint64_t bytes) const;

 private:
  std::string path_;
  std::string advice_;
  free_memory free_;
};

}  // namespace lull
