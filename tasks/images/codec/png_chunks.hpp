// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/tasks/images/codec/image_file.hpp>

namespace lull::detail {

struct png_chunks {
  unsigned orientation = 1;  // as `exif_orientation` finds it in eXIf
  bool animated = false;     // there is more than one frame; before the pixels of the first
};

/// Goes from chunk to chunk of a PNG and reads no pixels: libpng tells of a chunk after the pixels only after the
/// pixels, but their shape depends on it, and it knows no animations. Checks no sums, which libpng does. Throws
/// input_error for a file of more chunks than max_png_chunks.
png_chunks find_png_chunks(image_file& file);

}  // namespace lull::detail
