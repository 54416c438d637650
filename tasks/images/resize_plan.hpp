// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <lull/tasks/images/image.hpp>
#include <lull/tasks/images/image_work.hpp>
#include <lull/tasks/images/picture.hpp>

namespace lull {

/// The tiles that a result is made in.
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

  /// Nothing where so many samples make one that a tile would take a team too long.
  std::optional<tile_plan> tiles() const noexcept;
  /// What travels to the machine: the pixels, and behind them the tables of the filter.
  std::size_t staged_bytes() const noexcept;
  /// What the machine needs: that, and room for what becomes of it.
  std::size_t bytes() const noexcept;

  /// Writes the tables behind the pixels; `staged` // (staged_bytes(),).
  void add_tables(std::span<unsigned char> staged) const;
  /// The picture whose staged bytes stand at the beginning of `memory` // (bytes(),) on the machine.
  picture at(unsigned char* memory) const noexcept;
  /// Of either pass of a picture without tiles; 0: an item is one pixel, whose taps the team shares.
  std::uint32_t pixels_of_item(std::uint32_t step) const noexcept;
  /// Items of either pass.
  std::uint64_t items(std::uint32_t step) const noexcept;
  /// Items of a chunk: more than one where they are short, and so many that no team is idle for it.
  std::uint32_t grain() const noexcept;
};

}  // namespace lull
