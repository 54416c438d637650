// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>

#include <lull/device/side_task.hpp>
#include <lull/tasks/product/large_product.hpp>

namespace lull {

namespace detail {

/// Multiplies in plain loops, one element a thread: for CPU threads, and GPUs before compute capability 9.0. Leaves
/// between two rows.
template <tile_leaving Leaving, minor A, minor B, class Number>
LULL_HD void multiply_plainly(auto const& team, chunk c, large_product<A, B> const& of,
                              product_result<Number> const& to, auto const& finish, saved_sums const& saved) noexcept {
  auto& leaves = *static_cast<std::uint32_t*>(team.shared());
  assert(Leaving != tile_leaving::saved || saved.steps != nullptr);
  large_tiles const tiles{of.shape};
  for (chunk now = c; now.size() != 0;) {
    for (std::uint64_t tile = now.begin; tile < now.end; ++tile) {
      large_tiles::tile const at = tiles.at(tile);
      std::uint32_t const last_row =
          of.shape.rows - at.row < large_tiles::rows ? of.shape.rows : at.row + large_tiles::rows;
      std::uint32_t const last_column =
          of.shape.columns - at.column < large_tiles::columns ? of.shape.columns : at.column + large_tiles::columns;
      std::uint32_t* const stored = Leaving == tile_leaving::saved ? saved.steps + tile * saved_sums::parts : nullptr;
      for (std::uint32_t row = at.row + (stored != nullptr ? *stored : 0); row < last_row; ++row) {
        if (team.rank() == 0) leaves = Leaving != tile_leaving::whole && team.stay_ended() ? 1 : 0;
        team.sync();
        bool const left = leaves != 0;
        team.sync();
        if (left) {
          if (team.rank() != 0) return;
          if (stored != nullptr) *stored = row - at.row;
          team.hand_back({now.at, tile, now.end});
          return;
        }
        for (std::uint32_t column = at.column + static_cast<std::uint32_t>(team.rank()); column < last_column;
             column += static_cast<std::uint32_t>(team.size())) {
          float sum = 0;
          for (std::uint32_t k = 0; k < of.shape.depth; ++k)
            sum += of.a_at(at.count, row, k) * of.b_at(at.count, k, column);
          to.at[at.count * to.step + row * to.pitch + column] = static_cast<Number>(finish(at.count, row, column, sum));
        }
      }
      if (stored != nullptr && team.rank() == 0)
        *stored = 0;  // for the next round: the barriers of its rows come after all reads of this one's
    }
    auto& next = *reinterpret_cast<chunk*>(static_cast<unsigned char*>(team.shared()) + 64);
    if (team.rank() == 0) next = team.more();
    team.sync();
    now = next;
    team.sync();
  }
}

}  // namespace detail

}  // namespace lull

#if defined(__CUDACC__)
#include <lull/tasks/product/tile_product.cuh>
#endif

namespace lull {

/// Collective. The tiles of `c` of the product `of`, and of all chunks that are claimed meanwhile, each element of the
/// result stored once as `finish(count, row, column, sum)`, a pure function of float. Sums are in fp32. Left within a
/// tile when the stay ends; what is not whole is handed back, and where tiles are `saved`, continued by the block that
/// takes it: then `saved` is this product's alone, and its steps are zeroed before the first call and wherever a tile
/// was left and operands or result have changed since. For a task whose shape is large_tiles::shape, whose items are
/// tiles, and whose phase this is. On Hopper's tensor cores in code for sm_90a, else in plain loops; the two round
/// differently.
template <tile_leaving Leaving = tile_leaving::undone, minor A, minor B, class Number>
LULL_HD void multiply_tiles(auto const& team, chunk c, large_product<A, B> const& of, product_result<Number> const& to,
                            auto const& finish, saved_sums const& saved = {}) noexcept {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  detail::multiply_on_tensor_cores<Leaving>(team, c, of, to, finish, saved);
#else
  detail::multiply_plainly<Leaving>(team, c, of, to, finish, saved);
#endif
}

/// The function applied to a sum before it is stored: none.
struct as_it_is {
  LULL_HD float operator()(std::uint32_t, std::uint32_t, std::uint32_t, float sum) const noexcept { return sum; }
};

/// … a layer's output: a bias for each column, then max(·, 0).
struct biased_relu {
  float const* bias;  // (columns,)

  LULL_HD float operator()(std::uint32_t, std::uint32_t, std::uint32_t column, float sum) const noexcept {
    float const value = sum + bias[column];
    return value > 0 ? value : 0;
  }
};

/// Side task: `rounds` times a × b. One item is a tile.
template <minor A, minor B, class Number = bfloat16, class Finish = as_it_is,
          tile_leaving Leaving = tile_leaving::undone>
struct tile_product {
  static constexpr team_shape shape = large_tiles::shape;

  large_product<A, B> of;
  product_result<Number> to;
  Finish finish;
  std::uint64_t rounds;
  saved_sums saved = {};  // of tiles that are left so

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    return at.round < rounds ? large_tiles{of.shape}.number() : finished;
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    multiply_tiles<Leaving>(team, c, of, to, finish, saved);
  }
};

using plain_product = tile_product<minor::depth, minor::depth>;
/// … whose tiles continue where blocks left them.
using saved_product = tile_product<minor::depth, minor::depth, bfloat16, as_it_is, tile_leaving::saved>;
/// … whose tiles blocks leave only after their end.
using undivided_product = tile_product<minor::depth, minor::depth, bfloat16, as_it_is, tile_leaving::whole>;

static_assert(side_task<plain_product>);

}  // namespace lull
