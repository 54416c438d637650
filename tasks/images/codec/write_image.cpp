// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/image_limits.hpp>
#include <lull/tasks/images/codec/image_writer.hpp>
#include <lull/tasks/images/codec/write_image.hpp>

namespace lull {
namespace {

void check(std::string const& path, image_kind kind, detail::image_to_write const& from) {
  auto const& shape = from.shape;
  auto const refuse_unless = [&path](bool fits, char const* what) {
    if (!fits) {
      throw usage_error(path + ": cannot be written: " + what);
    }
  };
  refuse_unless(std::min(shape.width, shape.height) > 0 && std::max(shape.width, shape.height) <= max_image_side,
                "a side of no pixels, or of more than 32768");
  refuse_unless(shape.channels >= 1 && shape.channels <= 4, "an image has 1 to 4 channels");
  refuse_unless(shape.bits == 8 || shape.bits == 16, "a channel has 8 or 16 bits");
  refuse_unless(from.pixels.size() == shape.bytes(), "as many bytes as the shape says are needed");
  refuse_unless(from.extras.icc_profile.size() <= max_metadata_bytes - 65536, "the profile is too large");
  refuse_unless(from.options.png_level >= 0 && from.options.png_level <= 9, "png_level is 0 to 9");
  refuse_unless(from.options.jpeg_quality >= 1 && from.options.jpeg_quality <= 100, "jpeg_quality is 1 to 100");
  if (kind == image_kind::jpeg) {
    refuse_unless(shape.bits == 8 && !shape.has_alpha(), "a JPEG has 8 bits a channel and no alpha");
  }
}

}  // namespace

void write_image(std::string const& path, image_kind kind, image_shape const& shape,
                 std::span<std::uint8_t const> pixels, image_extras const& extras, write_options const& options) {
  detail::image_to_write const from{shape, pixels, extras, options};
  check(path, kind, from);
  atomic_file file{path};
  kind == image_kind::png ? detail::write_png(file, from) : detail::write_jpeg(file, from);
  file.commit();
}

}  // namespace lull
