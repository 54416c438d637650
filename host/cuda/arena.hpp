// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace lull {

/// Hands out parts of one piece of memory that was allocated at start: first fit, in units of a line. Not thread-safe.
class arena {
 public:
  static constexpr std::size_t unit_bytes = 128;

  explicit arena(std::size_t bytes) : taken_(bytes / unit_bytes) {}

  /// Returns the offset of `bytes` free bytes; nothing if none fit.
  std::optional<std::size_t> take(std::size_t bytes) {
    std::size_t const units = units_of(bytes);
    std::size_t run = 0;
    for (std::size_t at = 0; at < taken_.size(); ++at) {
      run = taken_[at] ? 0 : run + 1;
      if (run != units) continue;
      std::size_t const first = at + 1 - units;
      std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>(first), units, true);
      return first * unit_bytes;
    }
    return std::nullopt;
  }

  void give_back(std::size_t offset, std::size_t bytes) {
    std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>(offset / unit_bytes), units_of(bytes), false);
  }

 private:
  static std::size_t units_of(std::size_t bytes) {
    return std::max<std::size_t>(1, (bytes + unit_bytes - 1) / unit_bytes);
  }

  std::vector<bool> taken_;
};

}  // namespace lull
