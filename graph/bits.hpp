// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <lull/device/world.hpp>

namespace lull::detail {

/// Bits that are set; std::popcount is not for device code.
LULL_HD constexpr std::uint32_t ones(std::uint32_t bits) noexcept {
  bits -= bits >> 1 & 0x5555'5555U;
  bits = (bits & 0x3333'3333U) + (bits >> 2 & 0x3333'3333U);
  return ((bits + (bits >> 4)) & 0x0f0f'0f0fU) * 0x0101'0101U >> 24;
}

/// The place of the lowest bit that is set; there is one.
LULL_HD constexpr std::uint32_t lowest(std::uint32_t bits) noexcept { return ones((bits & (~bits + 1)) - 1); }

/// The same two of 64 bits.
LULL_HD inline std::uint32_t ones_of_word(std::uint64_t bits) noexcept {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popcll(bits));
#else
  return static_cast<std::uint32_t>(std::popcount(bits));
#endif
}
LULL_HD inline std::uint32_t lowest_of_word(std::uint64_t bits) noexcept {
  return ones_of_word((bits & (~bits + 1)) - 1);
}

}  // namespace lull::detail
