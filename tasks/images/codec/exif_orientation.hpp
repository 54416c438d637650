// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/tasks/images/codec/image.hpp>
#include <span>
#include <utility>

namespace lull::detail {

/// Returns how the rows and columns of an image are stored: 1 upright, 2 mirrored, 3 turned by 180°, 4 upside down, 5
/// to 8 with rows and columns exchanged (5 transposed, 6 to be turned clockwise, 7 transposed the other way, 8
/// anticlockwise). `exif`: the content of a JPEG's APP1 after its length, or of a PNG's eXIf. The number may be of any
/// type but those of text and bytes; of several the first counts, and of several tags the last, as Pillow takes them.
/// Returns 1 for data that is not Exif, has no orientation or is damaged: other programs show such an image as stored,
/// too. Source: CIPA DC-008, 4.5 and 4.6.2; TIFF revision 6.0, section 2.
unsigned exif_orientation(std::span<std::uint8_t const> exif) noexcept;

/// Returns whether the upright image's width is the stored one's height.
constexpr bool exchanges_sides(unsigned orientation) noexcept { return orientation >= 5; }

/// Returns the shape of the upright image.
constexpr image_shape upright(unsigned orientation, image_shape stored) noexcept {
  if (exchanges_sides(orientation)) {
    std::swap(stored.width, stored.height);
  }
  return stored;
}

constexpr unsigned strip_rows = 16;  // read and turned together, so that several pixels side by side are written

/// Moves rows as stored, from `first_row` on, to their places in the upright image. `stored`: the whole image's shape;
/// `rows` // (some × stored.row_bytes(),) u8, `to` // (stored.bytes(),) u8
void put_upright(unsigned orientation, image_shape const& stored, std::span<std::uint8_t const> rows,
                 std::uint32_t first_row, std::span<std::uint8_t> to) noexcept;

}  // namespace lull::detail
