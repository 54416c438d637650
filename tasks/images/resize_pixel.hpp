// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <lull/device/world.hpp>
#include <lull/tasks/images/picture.hpp>

namespace lull::detail {

struct pixel_sum {
  float v[4];
};

template <class Sample>
inline constexpr float whole = static_cast<float>(static_cast<Sample>(~Sample{0}));

/// Copies as std::memcpy, at once: `Align` says what the other side is aligned to.
template <std::size_t Bytes, std::size_t Align>
LULL_HD void load_aligned(void* to, void const* from) noexcept {
  std::memcpy(to, __builtin_assume_aligned(from, Align), Bytes);
}
template <std::size_t Bytes, std::size_t Align>
LULL_HD void store_aligned(void* to, void const* from) noexcept {
  std::memcpy(__builtin_assume_aligned(to, Align), from, Bytes);
}

/// Returns the whole part of a value in [0, 2^23). A conversion is slow on a GPU (a quarter of an addition's rate).
LULL_HD inline std::uint32_t cut_off(float value) noexcept {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(__fadd_rz(value, 8388608.0f));  // of whose bits the upper nine are the exponent's
#else
  return static_cast<std::uint32_t>(value);
#endif
}

/// Lays the logo over a premultiplied pixel.
template <int Channels>
LULL_HD void lay_over(pixel_sum& found, logo_ref::pixel const& over, float largest) noexcept {
  constexpr bool has_alpha = Channels % 2 == 0;
  float const grey = 0.299f * over.red + 0.587f * over.green + 0.114f * over.blue;
  float const colours[3] = {Channels < 3 ? grey : over.red, over.green, over.blue};
  for (int c = 0; c < Channels - has_alpha; ++c) found.v[c] = colours[c] * largest + found.v[c] * (1 - over.alpha);
  if constexpr (has_alpha) found.v[Channels - 1] = over.alpha * largest + found.v[Channels - 1] * (1 - over.alpha);
}

/// Stores a premultiplied pixel of the result in its place as files hold it, with the logo over it.
template <int Channels, class Sample>
LULL_HD void store_pixel(picture const& of, logo_ref const& logo, std::uint32_t x, std::uint32_t y,
                         pixel_sum found) noexcept {
  constexpr bool has_alpha = Channels % 2 == 0;
  constexpr float largest = whole<Sample>;
  // left of the logo: large
  std::uint32_t const logo_x = x - static_cast<std::uint32_t>(of.logo_x);
  std::uint32_t const logo_y = y - static_cast<std::uint32_t>(of.logo_y);
  if (logo_x < logo.width && logo_y < logo.height) {
    lay_over<Channels>(found, logo.pixels[std::size_t{logo_y} * logo.width + logo_x], largest);
  }
  if constexpr (has_alpha) {
    float const alpha = found.v[Channels - 1];
    float const scale = alpha > 0 ? largest / alpha : 0.0f;
    for (int c = 0; c < Channels - 1; ++c) found.v[c] *= scale;
  }
  Sample made[Channels];
  for (int c = 0; c < Channels; ++c) {
    float const value = found.v[c] + 0.5f;
    made[c] = static_cast<Sample>(cut_off(value <= 0 ? 0.0f : value >= largest ? largest : value));
  }
  constexpr std::size_t alignment = sizeof made % (2 * sizeof(Sample)) == 0 ? sizeof made : sizeof(Sample);
  store_aligned<sizeof made, alignment>(static_cast<Sample*>(of.out) + (std::size_t{y} * of.width + x) * Channels,
                                        made);
}

}  // namespace lull::detail
