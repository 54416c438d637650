// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/tasks/images/codec/image.hpp>
#include <optional>
#include <span>
#include <string>

namespace lull {

enum class image_colours { stored, rgb };  // rgb: grey becomes RGB, and loses its profile

/// What a file's header says before its image data.
struct image_header {
  image_kind kind{};
  image_colours colours = image_colours::stored;  // as asked for
  image_shape shape;                              // as decoded: upright, palettes and low bit depths expanded
  std::size_t decoder_bytes = 0;  // what decoding allocates beside the pixels, if it is more than some rows

  std::size_t decoded_bytes() const noexcept { return shape.bytes(); }
  bool operator==(image_header const&) const = default;
};

struct image_limits {
  std::size_t max_bytes = 1UL << 30;  // decoded_bytes() + decoder_bytes
};

/// Returns the kind of a name that ends in .png, .jpg or .jpeg, in any case; nothing for other names.
std::optional<image_kind> image_kind_by_name(std::string const& path);

/// Reads up to the image data, at most `max_metadata_bytes` into memory, and allocates nothing for pixels.
///
/// The content decides whether a file is a PNG or a JPEG. A file whose name says the other is refused: its result would
/// get a wrong name, too. Only regular files are read, so that no call hangs. Thread-safe (different calls). Errors:
/// those of `decode`, as far as the header shows them.
image_header read_header(std::string const& path, image_colours colours = image_colours::stored);

/// Returns whether a file that `read_header` refused claims to be no picture: neither its name says PNG or JPEG, nor is
/// its content that of a common picture format. A file that cannot be looked into may be a picture. Thread-safe.
bool is_no_picture(std::string const& path);

/// Reads an image.
///
/// PNG: all colour types and depths, also interlaced. Palettes become RGB, fewer than 8 bits become 8, a tRNS chunk
/// becomes an alpha channel, 16 bits stay. Ignores gamma and chromaticities; keeps a profile. JPEG: grey, YCbCr, RGB,
/// CMYK and YCCK with 8 bits, baseline and progressive. CMYK becomes RGB, each colour times the share that black leaves
/// of it; its profile is left out. Both are turned upright as the EXIF orientation says (eXIf of a PNG, wherever it
/// stands). A JPEG without its end mark is read if all of its pixels are there; zeros that fill its end are no pixels.
///
/// Throws input_error with the file's name and one reason: missing, not regular, cannot be opened, empty, neither PNG
/// nor JPEG, named as the other, truncated (of a PNG, a missing end mark is enough), damaged (it checks every checksum
/// of a PNG), of a kind that is not read (12 bits, lossless JPEG), larger than a limit here or in image_limits.hpp.
/// Throws limit_error if memory does not suffice. Prints nothing. Thread-safe (different calls).
///
/// Sources: PNG specification, 3rd edition, W3C 2025; ITU-T T.81; ITU-T T.871 (JFIF); CIPA DC-008 (Exif), 4.6.2; ICC.1.
image decode(std::string const& path, image_limits const& limits = {}, image_colours colours = image_colours::stored);

/// Reads an image as `decode` does, into the caller's memory (pinned memory, for example): `pixels` //
/// (expected.decoded_bytes(),) u8. `expected` is what `read_header` returned; throws input_error if the file differs by
/// now. After an error the pixels are unspecified.
image_extras decode_to(std::string const& path, image_header const& expected, std::span<std::uint8_t> pixels);

}  // namespace lull
