// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/world.hpp>

namespace lull {

/// Where a side task is: round and step number its phases; step 0 of the next round follows the last step.
struct position {
  std::uint64_t round = 0;
  std::uint32_t step = 0;

  friend constexpr bool operator==(position, position) = default;
};

/// The items of one claim, [begin, end), of the phase `at`.
struct chunk {
  position at;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  LULL_HD constexpr std::uint64_t size() const noexcept { return end - begin; }
};

/// Values that `extent` returns instead of a number of items: the task is over; it has no input yet.
inline constexpr std::uint64_t finished = ~std::uint64_t{0};
inline constexpr std::uint64_t starved = finished - 1;

/// A phase's tag (24 bits, wraps) and an item or an extent (40 bits) in one 64-bit word. One load yields both, so a
/// value is never mistaken for that of another phase.
class tagged {
 public:
  static constexpr int item_bits = 40;
  static constexpr std::uint64_t item_mask = (std::uint64_t{1} << item_bits) - 1;
  static constexpr std::uint32_t tag_mask = (std::uint32_t{1} << 24) - 1;

  tagged() = default;
  LULL_HD explicit constexpr tagged(std::uint64_t word) noexcept : word_(word) {}
  LULL_HD constexpr tagged(std::uint32_t tag, std::uint64_t item) noexcept
      : word_(std::uint64_t{tag & tag_mask} << item_bits | item) {}

  LULL_HD constexpr std::uint32_t tag() const noexcept { return static_cast<std::uint32_t>(word_ >> item_bits); }
  LULL_HD constexpr std::uint64_t item() const noexcept { return word_ & item_mask; }
  LULL_HD constexpr std::uint64_t word() const noexcept { return word_; }

 private:
  std::uint64_t word_ = 0;
};

}  // namespace lull
