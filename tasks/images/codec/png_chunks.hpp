// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/tasks/images/codec/image_file.hpp>

namespace lull::detail {

/// Returns the orientation in a PNG's eXIf chunk, as `exif_orientation` does. libpng tells of a chunk after the pixels
/// only after the pixels, but their shape depends on it: so this goes from chunk to chunk and reads no pixels. Checks
/// no sums, which libpng does. Throws input_error for a file of more chunks than max_png_chunks.
unsigned png_orientation(image_file& file);

}  // namespace lull::detail
