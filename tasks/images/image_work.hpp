// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lull {

/// How pixels are weighted when an image is resized. When shrinking, both average over all that an output pixel covers.
enum class image_filter {
  lanczos3,  // sin(πx)/(πx) · sin(πx/3)/(πx/3) for |x| < 3, stretched by the ratio when shrinking
  area       // the share of the output pixel's area that each input pixel covers, shrinking and enlarging
};

enum class image_corner { top_left, top_right, bottom_left, bottom_right };

/// Where a logo goes, and how opaque it is.
struct logo_place {
  image_corner corner = image_corner::bottom_right;
  std::uint32_t margin = 16;  // pixels between the logo and each of the two edges
  double opacity = 0.6;       // 0 to 1; times the logo's own alpha
};

}  // namespace lull
