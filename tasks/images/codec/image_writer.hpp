// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/host/io/atomic_file.hpp>
#include <lull/tasks/images/codec/write_image.hpp>
#include <span>

namespace lull::detail {

/// What goes into a file. It is checked, so the library can fail only on memory and on the file.
struct image_to_write {
  image_shape const& shape;
  std::span<std::uint8_t const> pixels;
  image_extras const& extras;
  write_options const& options;
};

/// Write everything except the commit.
void write_png(atomic_file& file, image_to_write const& from);
void write_jpeg(atomic_file& file, image_to_write const& from);

}  // namespace lull::detail
