// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <lull/tasks/images/codec/image.hpp>

namespace lull::detail {

/// Returns one number of an image, 8 or 16 bits, counted channel by channel from the top left.
inline std::uint32_t sample(image const& from, std::size_t index) noexcept {
  if (from.shape.bits == 8) {
    return from.pixels[index];
  }
  std::uint16_t value = 0;
  std::memcpy(&value, from.pixels.data() + 2 * index, 2);
  return value;
}

/// Sets a sample, limited to what the image can hold and rounded to the nearest, halves up.
inline void set_sample(image& to, std::size_t index, double value) noexcept {
  auto const rounded = static_cast<std::uint16_t>(std::floor(std::clamp<double>(value, 0, to.shape.largest()) + 0.5));
  if (to.shape.bits == 8) {
    to.pixels[index] = static_cast<std::uint8_t>(rounded);
  } else {
    std::memcpy(to.pixels.data() + 2 * index, &rounded, 2);
  }
}

}  // namespace lull::detail
