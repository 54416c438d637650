// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <lull/tasks/images/codec/image.hpp>
#include <lull/tasks/images/image_work.hpp>
#include <lull/tasks/images/picture.hpp>

namespace lull {

/// The tiles in which a result is made.
struct tile_plan {
  std::uint32_t width;
  std::uint32_t height;      // even
  std::uint32_t row_floats;  // of team storage for a row; 0: none
  std::uint32_t together;    // so many take a team no longer than one of another plan
};

/// How one picture is resized.
struct resize_plan {
  image_shape in;
  image_shape out;  // of the same channels and bits
  image_filter filter = image_filter::lanczos3;
  std::int32_t logo_x = 0;
  std::int32_t logo_y = 0;

  /// Returns nothing if a sample uses so many others that a tile would take a team too long.
  std::optional<tile_plan> tiles() const noexcept;
  /// Returns the size of what travels to the machine: the pixels, and the filter's tables after them.
  std::size_t staged_bytes() const noexcept;
  /// Returns what the machine needs: that, and memory for the results.
  std::size_t bytes() const noexcept;

  /// Writes the tables after the pixels; `staged` // (staged_bytes(),).
  void add_tables(std::span<unsigned char> staged) const;
  /// Returns the picture whose staged bytes are at the start of `memory` // (bytes(),) on the machine.
  picture at(unsigned char* memory) const noexcept;
  /// Returns the pixels of an item, of either pass of a picture without tiles; 0: an item is one pixel, whose taps the
  /// team shares.
  std::uint32_t pixels_of_item(std::uint32_t step) const noexcept;
  /// Returns the items of either pass.
  std::uint64_t items(std::uint32_t step) const noexcept;
  /// Returns the items of a chunk: more than one if they are short, but so few that no team idles.
  std::uint32_t grain() const noexcept;
};

}  // namespace lull
