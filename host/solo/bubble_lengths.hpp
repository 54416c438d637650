// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace lull {

/// Random lengths between two limits, log-uniform: as many between 50 and 500 us as between 0.5 and 5 ms. The same seed
/// gives the same lengths.
class bubble_lengths {
 public:
  /// Throws usage_error unless 0 < shortest <= longest.
  bubble_lengths(std::chrono::nanoseconds shortest, std::chrono::nanoseconds longest, std::uint64_t seed);

  std::chrono::nanoseconds next();

 private:
  std::chrono::nanoseconds const shortest_;
  std::chrono::nanoseconds const longest_;
  std::mt19937_64 random_;
};

}  // namespace lull
