// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lull {

enum class image_kind { png, jpeg };

/// The layout of an image's bytes: row after row from the top, without padding, channels side by side.
struct image_shape {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint8_t channels = 0;  // 1: grey, 2: grey and alpha, 3: RGB, 4: RGB and alpha (not premultiplied)
  std::uint8_t bits = 8;      // a channel: 8, or 16 in the machine's byte order

  bool has_alpha() const noexcept { return channels == 2 || channels == 4; }
  std::uint32_t largest() const noexcept { return bits == 16 ? 65535 : 255; }
  std::size_t pixel_bytes() const noexcept { return channels * std::size_t{bits} / 8; }
  std::size_t row_bytes() const noexcept { return width * pixel_bytes(); }
  std::size_t bytes() const noexcept { return height * row_bytes(); }
  bool operator==(image_shape const&) const = default;
};

enum class density_unit { none, ratio, inch, centimetre, metre };  // ratio: x to y only, of pixels that are not square

/// Pixels in a unit of length, as in the file.
struct image_density {
  density_unit unit = density_unit::none;
  std::uint32_t x = 0;
  std::uint32_t y = 0;

  bool operator==(image_density const&) const = default;
};

/// What a user must know of how a file was read, since it is not whole, or changed on its way.
enum class image_note {
  no_end_mark,      // a JPEG whose pixels are all there
  damaged_profile,  // left out
  inverted_inks,    // CMYK as Adobe stores it, made RGB
  inks,             // CMYK whose file does not say how it is stored, made RGB
  first_frame,      // of an animated PNG; the others are left out
  grey_made_rgb,    // as the caller asked
  damaged_chunk     // of a PNG, which no pixel needs; left out
};

/// What comes with the pixels. All but the notes is copied from the input file to the output file.
struct image_extras {
  std::vector<std::uint8_t> icc_profile;  // empty: none
  image_density density;
  std::vector<image_note> notes;
};

/// An image on the host.
struct image {
  image_shape shape;
  std::vector<std::uint8_t> pixels;  // (shape.bytes(),)
  image_extras extras;
};

}  // namespace lull
