// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <lull/device/world.hpp>

namespace lull {

/// A matrix row after row. Columns are a multiple of 8 and it begins at a multiple of 16 bytes.
template <class Number>
struct matrix_ref {
  Number const* at;
  std::uint64_t rows;
  std::uint64_t columns;
};

/// Which of the factors a and b of a product is transposed.
enum class factors { plain, right_transposed, left_transposed };

/// Whether a tile asks, every 1,024 of its depth, if the team is leaving.
enum class polling { no, yes };

struct product_shape {
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t depth;
};

template <factors How, class Number>
LULL_HD product_shape shape_of(matrix_ref<Number> a, matrix_ref<Number> b) noexcept {
  if constexpr (How == factors::left_transposed)
    return {a.columns, b.columns, a.rows};
  else
    return {a.rows, How == factors::plain ? b.columns : b.rows, a.columns};
}

/// A tile's sums in the team's storage.
struct product_sums {
  float* at;  // (side, pitch)
  std::uint32_t pitch;
  std::uint32_t rows;  // of the tile inside the product
  std::uint32_t columns;
  std::uint64_t row;  // of the product, where the tile begins
  std::uint64_t column;
  bool left = false;  // the team leaves: there are no sums, and nothing may be stored
};

LULL_HD inline product_sums sums_at(float* storage, product_shape const& shape, std::uint32_t side,
                                    std::uint64_t tile) noexcept {
  std::uint64_t const across = (shape.columns + side - 1) / side;
  std::uint64_t const row = tile / across * side;
  std::uint64_t const column = tile % across * side;
  std::uint64_t const rows = shape.rows - row;
  std::uint64_t const columns = shape.columns - column;
  return {.at = storage,
          .pitch = side + 8,  // so that a warp's pairs of sums fall into different banks
          .rows = rows < side ? static_cast<std::uint32_t>(rows) : side,
          .columns = columns < side ? static_cast<std::uint32_t>(columns) : side,
          .row = row,
          .column = column};
}

/// Of teams that multiply on a GPU.
inline constexpr int product_threads = 256;
/// Two teams find place beside each other on an SM. More than 48 KiB on purpose: that is what a kernel may have without
/// being granted more, its static storage included, and the executor asks for the grant by this number alone.
inline constexpr std::size_t product_storage_bytes = 49 * 1024;
inline constexpr std::uint32_t thin_rows = 32;

}  // namespace lull
