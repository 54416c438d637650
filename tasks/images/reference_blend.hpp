// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/tasks/images/codec/image.hpp>
#include <lull/tasks/images/image_work.hpp>

namespace lull {

/// The image with the logo over it: what a blended image is held against, in double precision.
///
/// The logo keeps its size; what of it lies outside of the image is cut off. Its numbers are taken as parts of its own
/// `largest()`, so the depths may differ. A grey logo on colours is that grey; a coloured one on grey is its luma,
/// 0.299 R + 0.587 G + 0.114 B. With a = opacity × the logo's alpha (1 without), A the image's alpha (1 without):
///   alpha = a + A (1 - a);  colour = (logo a + image A (1 - a)) / alpha, 0 where alpha is 0
/// Rounded to the nearest, halves up. Profiles are not looked at.
/// Errors: usage_error for an opacity outside of 0 … 1.
///
/// Source: Porter, Duff, "Compositing digital images", SIGGRAPH 1984 (over); ITU-R BT.601 (luma).
image reference_blend(image const& onto, image const& logo, logo_place const& place);

}  // namespace lull
