// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/tasks/images/codec/image_file.hpp>
#include <lull/tasks/images/codec/read_image.hpp>
#include <memory>
#include <span>
#include <vector>

namespace lull::detail {

/// One file on its way through a library. Call in this order, each at most once.
class image_reader {
 public:
  virtual ~image_reader() = default;

  /// Checks no limit on sizes. This and `pixels` throw input_error.
  virtual image_header header() = 0;
  virtual image_extras extras() = 0;
  /// `to` // (header.decoded_bytes(),) u8
  virtual void pixels(std::span<std::uint8_t> to) = 0;
  virtual std::vector<image_note> notes() const = 0;
};

std::unique_ptr<image_reader> read_png(image_file& file, image_colours colours);
std::unique_ptr<image_reader> read_jpeg(image_file& file, image_colours colours);

}  // namespace lull::detail
