// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <lull/host/error.hpp>
#include <lull/tasks/images/reference_blend.hpp>
#include <lull/tasks/images/samples.hpp>
#include <string>

namespace lull {
namespace {

/// A pixel with all possible channels, 0 to 1.
struct colour {
  std::array<double, 3> rgb;
  double alpha;
};

std::size_t first_sample(image const& of, std::int64_t x, std::int64_t y) {
  return static_cast<std::size_t>(y * std::int64_t{of.shape.width} + x) * of.shape.channels;
}

colour colour_at(image const& of, std::int64_t x, std::int64_t y) {
  auto const first = first_sample(of, x, y);
  auto const part = [&](std::size_t channel) {
    return static_cast<double>(detail::sample(of, first + channel)) / of.shape.largest();
  };
  bool const grey = of.shape.channels <= 2;
  return {grey ? std::array{part(0), part(0), part(0)} : std::array{part(0), part(1), part(2)},
          of.shape.has_alpha() ? part(of.shape.channels - 1U) : 1};
}

double luma(std::array<double, 3> const& rgb) { return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]; }

void set_colour(image& of, std::int64_t x, std::int64_t y, colour const& value) {
  auto const first = first_sample(of, x, y);
  auto const largest = of.shape.largest();
  auto const colours = of.shape.channels - (of.shape.has_alpha() ? 1U : 0U);
  for (std::size_t channel = 0; channel < colours; ++channel) {
    detail::set_sample(of, first + channel, value.rgb[channel] * largest);
  }
  if (of.shape.has_alpha()) {
    detail::set_sample(of, first + colours, value.alpha * largest);
  }
}

colour over(colour const& above, colour const& below) {
  auto const seen = below.alpha * (1 - above.alpha);
  colour made{{}, above.alpha + seen};
  for (std::size_t channel = 0; channel < 3 && made.alpha > 0; ++channel) {
    made.rgb[channel] = (above.rgb[channel] * above.alpha + below.rgb[channel] * seen) / made.alpha;
  }
  return made;
}

}  // namespace

image reference_blend(image const& onto, image const& logo, logo_place const& place) {
  if (!(place.opacity >= 0 && place.opacity <= 1)) {
    throw usage_error("reference_blend: an opacity of " + std::to_string(place.opacity) + ": 0 to 1 is possible");
  }
  bool const right = place.corner == image_corner::top_right || place.corner == image_corner::bottom_right;
  bool const bottom = place.corner == image_corner::bottom_left || place.corner == image_corner::bottom_right;
  auto const begin = [&place](bool far, std::int64_t of_image, std::int64_t of_logo) {
    return far ? of_image - of_logo - place.margin : std::int64_t{place.margin};
  };
  auto const left = begin(right, onto.shape.width, logo.shape.width);
  auto const top = begin(bottom, onto.shape.height, logo.shape.height);
  image made = onto;
  for (std::int64_t y = 0; y < logo.shape.height; ++y) {
    for (std::int64_t x = 0; x < logo.shape.width; ++x) {
      auto const to_x = left + x;
      auto const to_y = top + y;
      if (to_x < 0 || to_y < 0 || to_x >= onto.shape.width || to_y >= onto.shape.height) {
        continue;
      }
      auto above = colour_at(logo, x, y);
      above.alpha *= place.opacity;
      if (onto.shape.channels <= 2) {
        above.rgb.fill(logo.shape.channels <= 2 ? above.rgb[0] : luma(above.rgb));
      }
      set_colour(made, to_x, to_y, over(above, colour_at(onto, to_x, to_y)));
    }
  }
  return made;
}

}  // namespace lull
