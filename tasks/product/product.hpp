// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/world.hpp>

namespace lull {

/// A matrix where its elements stand; a transposed one is the same with its strides exchanged.
template <class Number>
struct matrix_ref {
  Number const* at;
  std::uint64_t row_stride;  // elements
  std::uint64_t column_stride;

  LULL_HD float operator()(std::uint64_t row, std::uint64_t column) const noexcept {
    return static_cast<float>(at[row * row_stride + column * column_stride]);
  }
  LULL_HD matrix_ref transposed() const noexcept { return {at, column_stride, row_stride}; }
};

/// Row after row, without padding.
template <class Number>
LULL_HD matrix_ref<Number> by_rows(Number const* at, std::uint64_t columns) noexcept {
  return {at, columns, 1};
}

/// The side of a tile of a product: an item.
inline constexpr std::uint32_t product_tile = 32;

LULL_HD constexpr std::uint64_t product_tiles(std::uint64_t rows, std::uint64_t columns) noexcept {
  return ((rows + product_tile - 1) / product_tile) * ((columns + product_tile - 1) / product_tile);
}

/// Collective. One tile of a × b, (rows, depth) × (depth, columns): `keep(row, column, sum)` for each element of it, once, by one
/// thread. Tiles are numbered row by row. Sums are in fp32, in the order of the depth, whatever the team.
template <class Number>
LULL_HD void multiply_tile(auto const& team, matrix_ref<Number> a, matrix_ref<Number> b, std::uint64_t rows, std::uint64_t columns,
                           std::uint64_t depth, std::uint64_t tile, auto const& keep) noexcept {
  constexpr std::uint32_t wide = 8;  // elements of a row that one thread has in its hands
  constexpr std::uint32_t groups = product_tile / wide;
  std::uint64_t const across = (columns + product_tile - 1) / product_tile;
  std::uint64_t const first_row = tile / across * product_tile;
  std::uint64_t const first_column = tile % across * product_tile;
  for (auto group = static_cast<std::uint32_t>(team.rank()); group < product_tile * groups; group += static_cast<std::uint32_t>(team.size())) {
    std::uint64_t const row = first_row + group / groups;
    std::uint64_t const column = first_column + group % groups * wide;
    if (row >= rows || column >= columns) continue;
    std::uint32_t const count = columns - column < wide ? static_cast<std::uint32_t>(columns - column) : wide;
    float sums[wide] = {};
    if (count == wide) {
      for (std::uint64_t k = 0; k < depth; ++k) {
        float const left = a(row, k);
        for (std::uint32_t i = 0; i < wide; ++i) sums[i] += left * b(k, column + i);
      }
    } else {
      for (std::uint64_t k = 0; k < depth; ++k) {
        for (std::uint32_t i = 0; i < count; ++i) sums[i] += a(row, k) * b(k, column + i);
      }
    }
    for (std::uint32_t i = 0; i < count; ++i) keep(row, column + i, sums[i]);
  }
}

}  // namespace lull
