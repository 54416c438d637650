// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace lull {

/// Any number of lengths in ns, in at most 22 KB: every octave has 64 buckets of equal width. Lengths from 2^47 ns (39
/// hours) on share the last bucket. Not thread-safe.
class length_histogram {
 public:
  /// The largest relative error of a percentile: half a bucket.
  static constexpr double relative_error = 1.0 / 128;

  void add(std::uint64_t ns);
  void add(length_histogram const& other);

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t max_ns() const noexcept { return longest_; }
  /// Returns a percentile by nearest rank (the smallest length that at least `per_mille` thousandths do not exceed),
  /// within the relative error. The shortest and the longest are exact: so the p99 of ten lengths is their maximum. 0
  /// without lengths.
  std::uint64_t percentile_ns(std::uint32_t per_mille) const noexcept;  // 1 to 1000

 private:
  std::vector<std::uint64_t> buckets_;  // as far as they are needed
  std::uint64_t count_ = 0;
  std::uint64_t shortest_ = ~std::uint64_t{0};
  std::uint64_t longest_ = 0;
};

}  // namespace lull
