// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/world.hpp>
#include <lull/host/task/counter_random.hpp>

namespace lull {

/// Which of `count` things stands in a place when they are shuffled: a bijection of [0, count), another for each key,
/// computed where it is needed. A Feistel network of six rounds over the next even number of bits, walked until it
/// falls below `count`; its round function is the finaliser of SplitMix64. Source: Luby, Rackoff, "How to construct
/// pseudorandom permutations from pseudorandom functions", SIAM J. Comput. 17, 1988; Black, Rogaway, "Ciphers with
/// arbitrary finite domains", CT-RSA 2002 (cycle walking).
class shuffled {
 public:
  LULL_HD shuffled(std::uint64_t key, std::uint32_t count) noexcept : key_(mixed(key)), count_(count) {
    while ((std::uint64_t{1} << (2 * half_)) < count) ++half_;
  }

  LULL_HD std::uint32_t at(std::uint32_t place) const noexcept {
    std::uint32_t found = place;
    do {
      found = once(found);
    } while (found >= count_);
    return found;
  }

 private:
  static constexpr std::uint32_t rounds = 6;

  LULL_HD static std::uint64_t mixed(std::uint64_t bits) noexcept {
    return counter_random::mix(bits + counter_random::golden);
  }

  LULL_HD std::uint32_t once(std::uint32_t value) const noexcept {
    std::uint32_t const mask = (std::uint32_t{1} << half_) - 1;
    std::uint32_t left = value >> half_;
    std::uint32_t right = value & mask;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      auto const f = static_cast<std::uint32_t>(mixed(key_ ^ (std::uint64_t{round} << 32 | right))) & mask;
      std::uint32_t const next = left ^ f;
      left = right;
      right = next;
    }
    return left << half_ | right;
  }

  std::uint64_t key_;
  std::uint32_t count_;
  std::uint32_t half_ = 1;  // bits
};

}  // namespace lull
