// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/logo.hpp>

#include <cstring>

namespace lull {

std::vector<logo_ref::pixel> weighed(image const& logo, double opacity) {
  image_shape const& shape = logo.shape;
  std::size_t const channels = shape.channels;
  auto const sample = [&](std::size_t at) {
    if (shape.bits == 8) return logo.pixels[at] / 255.0;
    std::uint16_t value = 0;
    std::memcpy(&value, logo.pixels.data() + 2 * at, sizeof value);
    return value / 65535.0;
  };
  std::vector<logo_ref::pixel> made(std::size_t{shape.width} * shape.height);
  for (std::size_t i = 0; i < made.size(); ++i) {
    std::size_t const at = i * channels;
    bool const colours = channels > 2;
    double const alpha = opacity * (shape.has_alpha() ? sample(at + channels - 1) : 1.0);
    made[i] = {static_cast<float>(alpha * sample(at)), static_cast<float>(alpha * sample(at + (colours ? 1 : 0))),
               static_cast<float>(alpha * sample(at + (colours ? 2 : 0))), static_cast<float>(alpha)};
  }
  return made;
}

bool has_colours(image const& logo) {
  image_shape const& shape = logo.shape;
  std::size_t const bytes = shape.bits / 8U;
  if (shape.channels < 3) return false;
  for (std::size_t at = 0; at < logo.pixels.size(); at += shape.pixel_bytes()) {
    unsigned char const* const pixel = logo.pixels.data() + at;
    bool const is_grey =
        std::memcmp(pixel, pixel + bytes, bytes) == 0 && std::memcmp(pixel, pixel + 2 * bytes, bytes) == 0;
    unsigned char const nothing[2] = {};
    bool const is_seen = !shape.has_alpha() || std::memcmp(pixel + 3 * bytes, nothing, bytes) != 0;
    if (!is_grey && is_seen) return true;
  }
  return false;
}

}  // namespace lull
