// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/tasks/images/codec/image.hpp>
#include <span>
#include <string>

namespace lull {

enum class jpeg_chroma { full, halved };  // 4:4:4; 4:2:0: one colour for four pixels

struct write_options {
  int png_level = 1;      // of zlib, 0 to 9; 6 makes a photograph a sixth smaller and takes six times as long
  int jpeg_quality = 90;  // 1 to 100
  jpeg_chroma chroma = jpeg_chroma::halved;
};

/// Writes an image upright: a PNG with its depth and alpha as they are, or a baseline JPEG (8 bits, 1 or 3 channels),
/// with profile and density. The file appears whole or not at all (`atomic_file`, which flushes it to the disk).
/// `pixels` // (shape.bytes(),) u8. A profile that libpng finds wrong for the colours is left out.
/// Thread-safe (different files). Errors: usage_error for a shape or an option that the format cannot hold, and those
/// of atomic_file.
void write_image(std::string const& path, image_kind kind, image_shape const& shape,
                 std::span<std::uint8_t const> pixels, image_extras const& extras, write_options const& options = {});

inline void write_image(std::string const& path, image_kind kind, image const& from,
                        write_options const& options = {}) {
  write_image(path, kind, from.shape, from.pixels, from.extras, options);
}

}  // namespace lull
