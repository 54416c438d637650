// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/world.hpp>

namespace lull {

/// Random numbers by index: number i is what SplitMix64 gives at its i-th call, so any thread can make any of them, and
/// every machine makes the same. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014, figures 16 and 17.
class counter_random {
 public:
  /// Different streams of one seed are independent.
  LULL_HD constexpr counter_random(std::uint64_t seed, std::uint64_t stream) noexcept
      : key_(mix(mix(seed + golden) + stream)) {}

  LULL_HD constexpr std::uint64_t at(std::uint64_t index) const noexcept { return mix(key_ + (index + 1) * golden); }

  /// Returns a number below `choices` (at most 2^32), uniform up to one part in 2^32: floor(at(index) × choices /
  /// 2^64), in 64 bits.
  LULL_HD constexpr std::uint64_t below(std::uint64_t index, std::uint64_t choices) const noexcept {
    std::uint64_t const r = at(index);
    return ((r >> 32) * choices + ((r & 0xffff'ffff) * choices >> 32)) >> 32;
  }

  static constexpr std::uint64_t golden = 0x9e37'79b9'7f4a'7c15;

  /// The finaliser: every bit of the result depends on every bit of the argument.
  LULL_HD static constexpr std::uint64_t mix(std::uint64_t bits) noexcept {
    bits = (bits ^ (bits >> 30)) * 0xbf58'476d'1ce4'e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d0'49bb'1331'11eb;
    return bits ^ (bits >> 31);
  }

 private:
  std::uint64_t key_;
};

}  // namespace lull
