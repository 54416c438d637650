// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <lull/device/world.hpp>
#include <lull/tasks/images/picture.hpp>

namespace lull::detail {

struct pixel_sum {
  float v[4];
};

template <class Sample>
inline constexpr float whole = static_cast<float>(static_cast<Sample>(~Sample{0}));

/// Lays the logo over a premultiplied pixel.
template <int Channels>
LULL_HD void lay_over(pixel_sum& found, logo_ref::pixel const& over, float largest) noexcept {
  constexpr bool has_alpha = Channels % 2 == 0;
  float const grey = 0.299f * over.red + 0.587f * over.green + 0.114f * over.blue;
  float const colours[3] = {Channels < 3 ? grey : over.red, over.green, over.blue};
  for (int c = 0; c < Channels - has_alpha; ++c) found.v[c] = colours[c] * largest + found.v[c] * (1 - over.alpha);
  if constexpr (has_alpha) found.v[Channels - 1] = over.alpha * largest + found.v[Channels - 1] * (1 - over.alpha);
}

/// From a premultiplied pixel of the result to one as files hold it, with the logo over it, into its place.
template <int Channels, class Sample>
LULL_HD void store_pixel(picture const& of, logo_ref const& logo, std::uint32_t x, std::uint32_t y, pixel_sum found) noexcept {
  constexpr bool has_alpha = Channels % 2 == 0;
  constexpr float largest = whole<Sample>;
  auto const logo_x = static_cast<std::int64_t>(x) - of.logo_x;
  auto const logo_y = static_cast<std::int64_t>(y) - of.logo_y;
  if (logo_x >= 0 && logo_y >= 0 && logo_x < logo.width && logo_y < logo.height) {
    lay_over<Channels>(found, logo.pixels[static_cast<std::uint64_t>(logo_y) * logo.width + static_cast<std::uint64_t>(logo_x)], largest);
  }
  if constexpr (has_alpha) {
    float const alpha = found.v[Channels - 1];
    float const scale = alpha > 0 ? largest / alpha : 0.0f;
    for (int c = 0; c < Channels - 1; ++c) found.v[c] *= scale;
  }
  auto* const out = static_cast<Sample*>(of.out) + (std::size_t{y} * of.width + x) * Channels;
  for (int c = 0; c < Channels; ++c) {
    float const value = found.v[c] + 0.5f;
    out[c] = static_cast<Sample>(value <= 0 ? 0.0f : value >= largest ? largest : value);
  }
}

}  // namespace lull::detail
