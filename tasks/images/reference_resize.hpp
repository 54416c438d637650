// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/tasks/images/codec/image.hpp>
#include <lull/tasks/images/image_work.hpp>

namespace lull {

/// What a resized image is held against: written for clearness in double precision, and shares no code with the task.
///
/// Each side by itself, the width first; nothing is rounded between. With ratio r = input / output pixels of a side,
/// the centre of output pixel i lies at (i + ½) r, that of input pixel j at j + ½.
///   lanczos3  weight L((j + ½ - (i + ½) r) / max(r, 1)), for all j for which it is not 0
///   area      weight: length of what [j, j + 1) and [i r, (i + 1) r) have in common, computed in whole numbers
/// The weights of the pixels that exist are divided by their sum, so edges need no pixels beyond. With alpha, colours
/// are multiplied by it before and divided by the filtered alpha after; where that rounds to 0 (or below), the colours
/// are 0. Results are cut to 0 … largest and rounded to the nearest, halves up. lanczos3 is Pillow's LANCZOS but for
/// that library's rounding between and within the passes.
///
/// Extras are kept, the density as it is. One thread; 8 bytes a channel of two images between the sizes.
/// Errors: usage_error for a side of 0 or of more than max_image_side.
///
/// Source: Turkowski, "Filters for common resampling tasks", Graphics Gems I, 1990; Porter, Duff, "Compositing digital
/// images", SIGGRAPH 1984 (premultiplied alpha).
image reference_resize(image const& from, std::uint32_t width, std::uint32_t height, image_filter filter);

}  // namespace lull
