// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/tasks/images/image.hpp>
#include <optional>
#include <span>
#include <string>

namespace lull {

/// What a file says of itself before its image data.
struct image_header {
  image_kind kind{};
  image_shape shape;              // as decoded: upright, palettes and low bit depths expanded
  std::size_t decoder_bytes = 0;  // what decoding allocates beside the pixels, if it is more than some rows

  std::size_t decoded_bytes() const noexcept { return shape.bytes(); }
  bool operator==(image_header const&) const = default;
};

struct image_limits {
  std::size_t max_bytes = 1UL << 30;  // decoded_bytes() + decoder_bytes
};

/// Of a name that ends in .png, .jpg or .jpeg, in whatever case; others say nothing.
std::optional<image_kind> image_kind_by_name(std::string const& path);

/// Reads up to the image data, never more than `max_metadata_bytes` into memory, and allocates nothing for pixels.
///
/// The content says whether a file is a PNG or a JPEG. One whose name says the other is refused: it would be written
/// under a name that lies again. Only regular files are read, so that nothing hangs.
/// Thread-safe (different calls). Errors: those of `decode`, as far as the header shows them.
image_header read_header(std::string const& path);

/// Reads an image.
///
/// PNG: all colour types and depths, interlaced too. Palettes become RGB, fewer than 8 bits become 8, a tRNS chunk
/// becomes an alpha channel, 16 bits stay. An orientation in an eXIf chunk is not looked at, and gamma and
/// chromaticities are not carried: only a profile is. JPEG: grey, YCbCr and RGB with 8 bits, baseline and progressive;
/// turned upright as the EXIF orientation says.
///
/// Throws input_error with the file's name and one reason: no such file, not a regular one, not to be opened, empty,
/// neither PNG nor JPEG, named as the other, truncated (a missing end mark is enough), damaged (every checksum of a PNG
/// is looked at), of a kind that is not read (CMYK, 12 bits, lossless JPEG), larger than a limit here or in
/// image_limits.hpp. limit_error where memory does not suffice. Nothing is printed. Thread-safe (different calls).
///
/// Sources: PNG specification, 3rd edition, W3C 2025; ITU-T T.81; ITU-T T.871 (JFIF); CIPA DC-008 (Exif), 4.6.2; ICC.1.
image decode(std::string const& path, image_limits const& limits = {});

/// As `decode`, to where the caller wants the pixels (pinned memory, say): `pixels` // (expected.decoded_bytes(),) u8.
/// `expected` is what `read_header` said; input_error if the file says something else by now. The pixels are
/// unspecified where this throws.
image_extras decode_to(std::string const& path, image_header const& expected, std::span<std::uint8_t> pixels);

}  // namespace lull
