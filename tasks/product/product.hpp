// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <lull/device/world.hpp>
#include <lull/tasks/product/bfloat16.hpp>
#include <lull/tasks/product/warp_product.hpp>
#if defined(__CUDACC__)
#include <lull/tasks/product/warp.cuh>
#endif

namespace lull {

/// Tiles of a product, items: numbered row by row. Large ones move less data an operation; small ones keep more
/// processors busy where a product has few. The choice is the product's alone, never the machine's.
LULL_HD constexpr std::uint64_t product_tiles_of_side(std::uint64_t rows, std::uint64_t columns,
                                                      std::uint32_t side) noexcept {
  return ((rows + side - 1) / side) * ((columns + side - 1) / side);
}
LULL_HD constexpr std::uint32_t product_side(std::uint64_t rows, std::uint64_t columns) noexcept {
  constexpr std::uint64_t enough = 96;  // for most of a GPU's 132
  return product_tiles_of_side(rows, columns, 64) >= enough ? 64 : 32;
}
LULL_HD constexpr std::uint64_t product_tiles(std::uint64_t rows, std::uint64_t columns) noexcept {
  return product_tiles_of_side(rows, columns, product_side(rows, columns));
}

namespace detail {

/// The warps that a team multiplies bf16 with: on a GPU its own, elsewhere none, but for a team in tests that brings
/// some.
struct no_warp {};
template <class Team>
struct warp_of {
#if defined(__CUDA_ARCH__)
  using type = cuda_warp;
#else
  using type = no_warp;
#endif
};
template <class Team>
  requires requires { typename Team::warp; }
struct warp_of<Team> {
  using type = typename Team::warp;
};

template <factors How, class Number>
LULL_HD float left_of(matrix_ref<Number> a, std::uint64_t row, std::uint64_t k) noexcept {
  return static_cast<float>(a.at[How == factors::left_transposed ? k * a.columns + row : row * a.columns + k]);
}
template <factors How, class Number>
LULL_HD float right_of(matrix_ref<Number> b, std::uint64_t k, std::uint64_t column) noexcept {
  return static_cast<float>(b.at[How == factors::right_transposed ? column * b.columns + k : k * b.columns + column]);
}

/// Plain loops over the operands where they stand. Sums are in the order of the depth.
template <factors How, class Number>
LULL_HD void sum_plainly(auto const& team, matrix_ref<Number> a, matrix_ref<Number> b, std::uint64_t depth,
                         product_sums const& tile) noexcept {
  auto const across = tile.columns / 8;
  for (auto group = static_cast<std::uint32_t>(team.rank()); group < tile.rows * across;
       group += static_cast<std::uint32_t>(team.size())) {
    std::uint32_t const row = group / across;
    std::uint32_t const column = group % across * 8;
    float sums[8] = {};
    for (std::uint64_t k = 0; k < depth; ++k) {
      float const left = left_of<How>(a, tile.row + row, k);
      for (std::uint32_t i = 0; i < 8; ++i) sums[i] += left * right_of<How>(b, k, tile.column + column + i);
    }
    for (std::uint32_t i = 0; i < 8; ++i) tile.at[row * tile.pitch + column + i] = sums[i];
  }
}

}  // namespace detail

/// Collective. One tile of a product, into the team's storage (product_storage_bytes): fp32 sums of products of the
/// operands as they stand. On a GPU those in bf16 are the tensor cores' work, by teams of product_threads; elsewhere,
/// and in fp32, plain loops are. An element's sum depends on the operands alone. What the storage held before is lost.
template <factors How, class Number>
LULL_HD product_sums multiply_tile(auto const& team, matrix_ref<Number> a, matrix_ref<Number> b, std::uint64_t tile,
                                   polling polls) noexcept {
  product_shape const shape = shape_of<How>(a, b);
  std::uint32_t const side = product_side(shape.rows, shape.columns);
  product_sums const place = sums_at(static_cast<float*>(team.shared()), shape, side, tile);
  team.sync();  // others may still look at the sums of the item before
  using warp = typename detail::warp_of<std::remove_cvref_t<decltype(team)>>::type;
  if constexpr (std::is_same_v<Number, bfloat16> && !std::is_same_v<warp, detail::no_warp>) {
    return side == 64 ? warp_product<warp, How, 64>{team.shared()}.run(team, a, b, shape.depth, place, polls)
                      : warp_product<warp, How, 32>{team.shared()}.run(team, a, b, shape.depth, place, polls);
  } else {
    (void)polls;
    detail::sum_plainly<How>(team, a, b, shape.depth, place);
    team.sync();
    return place;
  }
}

/// Collective, after multiply_tile: visit(row, column, sums) for eight neighbours at a time, rows and columns of the
/// product.
LULL_HD void each_eight(auto const& team, product_sums const& tile, auto const& visit) noexcept {
  std::uint32_t const across = tile.columns / 8;
  for (auto group = static_cast<std::uint32_t>(team.rank()); group < tile.rows * across;
       group += static_cast<std::uint32_t>(team.size())) {
    std::uint32_t const row = group / across;
    std::uint32_t const column = group % across * 8;
    visit(tile.row + row, tile.column + column, tile.at + row * tile.pitch + column);
  }
}

/// Collective. to = a × bᵀ where mask > 0, else 0, for a of a few columns and at most thin_rows rows: too thin for
/// tiles, so operands are taken from where they stand. `mask` and `to` are (a.rows, b.rows).
template <class Number>
LULL_HD void multiply_thin(auto const& team, matrix_ref<Number> a, matrix_ref<Number> b, Number const* mask,
                           Number* to) noexcept {
  using warp = typename detail::warp_of<std::remove_cvref_t<decltype(team)>>::type;
  if constexpr (std::is_same_v<Number, bfloat16> && !std::is_same_v<warp, detail::no_warp>) {
    warp_thin_product<warp>(team, a, b, mask, to);
  } else {
    std::uint64_t const all = a.rows * b.rows;
    for (auto at = static_cast<std::uint64_t>(team.rank()); at < all; at += static_cast<std::uint64_t>(team.size())) {
      float sum = 0;
      for (std::uint64_t k = 0; k < a.columns; ++k) {
        sum += static_cast<float>(a.at[at / b.rows * a.columns + k]) *
               static_cast<float>(b.at[at % b.rows * b.columns + k]);
      }
      to[at] = Number(static_cast<float>(mask[at]) > 0 ? sum : 0.0f);
    }
  }
}

}  // namespace lull
