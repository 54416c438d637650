// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include <lull/device/world.hpp>
#include <lull/host/io/tensor.hpp>

namespace lull {

/// The upper half of a float: 8 significant bits. Made from a float by rounding to the nearest, ties to even; equal on
/// all machines except for the bits of a NaN.
struct bfloat16 {
  static constexpr tensor_type element = tensor_type::bf16;  // in files
  std::uint16_t bits;

  bfloat16() = default;
  LULL_HD explicit bfloat16(float value) noexcept {
#if defined(__CUDA_ARCH__)
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    std::uint32_t whole;
    std::memcpy(&whole, &value, sizeof whole);
    bool const is_number = (whole & 0x7fff'ffffU) <= 0x7f80'0000U;
    bits = static_cast<std::uint16_t>((is_number ? whole + 0x7fffU + (whole >> 16 & 1U) : whole | 0x40'0000U) >> 16);
#endif
  }
  LULL_HD explicit operator float() const noexcept {
    std::uint32_t const whole = std::uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &whole, sizeof value);
    return value;
  }
};

/// Eight neighbours of a row, moved at once.
template <class Number>
struct alignas(16) eight {
  Number at[8];

  LULL_HD static eight from(Number const* place) noexcept { return *reinterpret_cast<eight const*>(place); }
  LULL_HD void to(Number* place) const noexcept { *reinterpret_cast<eight*>(place) = *this; }
};

}  // namespace lull
