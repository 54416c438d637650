// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>
#include <lull/host/tensor_map.hpp>
#include <lull/tasks/product/bfloat16.hpp>

namespace lull {

/// Which index of an operand has neighbours in memory: the depth, over which is summed, or its side, the rows or columns of the result.
enum class minor { depth, side };

/// (count, side, depth) bf16 where the depth is minor, else (count, depth, side).
struct product_operand {
  bfloat16 const* at = nullptr;  // 16-byte aligned
  std::uint64_t pitch = 0;       // elements from one index that is not minor to the next, a multiple of 8
  std::uint64_t step = 0;        // elements from matrix to matrix, a multiple of 8
};

/// (count, rows, columns), Number.
template <class Number>
struct product_result {
  Number* at = nullptr;
  std::uint64_t pitch = 0;
  std::uint64_t step = 0;
};

struct large_shape {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t depth = 0;
  std::uint32_t count = 1;
};

/// Tiles of large products, the items. A block's SM is full with one.
struct large_tiles {
  static constexpr std::uint32_t rows = 128;
  static constexpr std::uint32_t columns = 256;
  static constexpr std::uint32_t depth = 64;  // of one step
  static constexpr std::uint32_t stages = 4;  // steps whose operands lie in shared memory
  static constexpr std::size_t stage_bytes = (rows + columns) * depth * sizeof(bfloat16);
  /// Of a task that multiplies so: whole stages on a boundary of 1,024 bytes, and what its warps tell each other.
  static constexpr team_shape shape{.threads = 384, .shared_bytes = 1024 + stages * stage_bytes + 512, .blocks_per_sm = 1, .claims = claiming::by_task};

  struct place {
    std::uint32_t count;   // which matrix
    std::uint32_t row;     // first
    std::uint32_t column;  // first
  };

  LULL_HD explicit large_tiles(large_shape const& of) noexcept
      : down_((of.rows + rows - 1) / rows), across_((of.columns + columns - 1) / columns), count_(of.count) {}

  LULL_HD std::uint64_t number() const noexcept { return std::uint64_t{down_} * across_ * count_; }

  /// Column by column within a band of 16 tiles of rows, so that tiles at work at the same time share their operands in the L2.
  /// In 32 bits: a longer division would be a call.
  LULL_HD place at(std::uint64_t item) const noexcept {
    constexpr std::uint32_t band = 16;
    auto const tile = static_cast<std::uint32_t>(item);
    std::uint32_t const each = down_ * across_;
    std::uint32_t const within = tile % each;
    std::uint32_t const begin = within / (band * across_) * band;
    std::uint32_t const high = down_ - begin < band ? down_ - begin : band;
    std::uint32_t const rest = within - begin * across_;
    return {tile / each, (begin + rest % high) * rows, rest / high * columns};
  }

 private:
  std::uint32_t down_;
  std::uint32_t across_;
  std::uint32_t count_;
};

/// Operands and shape of a × b. `maps`: (2,), of a and b (product_maps in product_owner.hpp makes them), in memory of the machine; null on CPU
/// threads.
template <minor A, minor B>
struct large_product {
  large_shape shape;
  product_operand a;
  product_operand b;
  tensor_map const* maps = nullptr;

  LULL_HD float a_at(std::uint64_t count, std::uint64_t row, std::uint64_t k) const noexcept {
    return static_cast<float>(a.at[count * a.step + (A == minor::depth ? row * a.pitch + k : k * a.pitch + row)]);
  }
  LULL_HD float b_at(std::uint64_t count, std::uint64_t k, std::uint64_t column) const noexcept {
    return static_cast<float>(b.at[count * b.step + (B == minor::depth ? column * b.pitch + k : k * b.pitch + column)]);
  }
};

/// When a tile may be left. Handed back within a tile by default; the others tell what that costs.
enum class tile_polls { within, never };

namespace detail {

/// In plain loops, one element a thread: CPU threads, and GPUs before compute capability 9.0. Left between two rows.
template <tile_polls Polls, minor A, minor B, class Number>
LULL_HD void multiply_plainly(auto const& team, chunk c, large_product<A, B> const& of, product_result<Number> const& to, auto const& finish) noexcept {
  auto& leaves = *static_cast<std::uint32_t*>(team.shared());
  large_tiles const tiles{of.shape};
  for (chunk now = c; now.size() != 0;) {
    for (std::uint64_t tile = now.begin; tile < now.end; ++tile) {
      large_tiles::place const at = tiles.at(tile);
      std::uint32_t const last_row = of.shape.rows - at.row < large_tiles::rows ? of.shape.rows : at.row + large_tiles::rows;
      std::uint32_t const last_column = of.shape.columns - at.column < large_tiles::columns ? of.shape.columns : at.column + large_tiles::columns;
      for (std::uint32_t row = at.row; row < last_row; ++row) {
        if (team.rank() == 0) leaves = Polls == tile_polls::within && team.stay_ended() ? 1 : 0;
        team.sync();
        bool const left = leaves != 0;
        team.sync();
        if (left) {
          if (team.rank() == 0) team.hand_back({now.at, tile, now.end});
          return;
        }
        for (std::uint32_t column = at.column + static_cast<std::uint32_t>(team.rank()); column < last_column;
             column += static_cast<std::uint32_t>(team.size())) {
          float sum = 0;
          for (std::uint32_t k = 0; k < of.shape.depth; ++k) sum += of.a_at(at.count, row, k) * of.b_at(at.count, k, column);
          to.at[at.count * to.step + row * to.pitch + column] = static_cast<Number>(finish(at.count, row, column, sum));
        }
      }
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

/// Collective. The tiles of `c` of the product `of`, and of all chunks that are claimed meanwhile, each element of the result stored once as
/// `finish(count, row, column, sum)`, a pure function of float. Sums are in fp32. Left within a tile when the stay ends; what is not
/// whole is handed back. For a task whose shape is large_tiles::shape, whose items are tiles, and whose phase this is. On Hopper's tensor
/// cores in code for sm_90a, else in plain loops; the two round differently.
template <tile_polls Polls = tile_polls::within, minor A, minor B, class Number>
LULL_HD void multiply_tiles(auto const& team, chunk c, large_product<A, B> const& of, product_result<Number> const& to, auto const& finish) noexcept {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  detail::multiply_on_tensor_cores<Polls>(team, c, of, to, finish);
#else
  detail::multiply_plainly<Polls>(team, c, of, to, finish);
#endif
}

/// What becomes of a sum before it is stored: nothing.
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
template <minor A, minor B, class Number = bfloat16, class Finish = as_it_is, tile_polls Polls = tile_polls::within>
struct tile_product {
  static constexpr team_shape shape = large_tiles::shape;

  large_product<A, B> of;
  product_result<Number> to;
  Finish finish;
  std::uint64_t rounds;

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    return at.round < rounds ? large_tiles{of.shape}.number() : finished;
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    multiply_tiles<Polls>(team, c, of, to, finish);
  }
};

using plain_product = tile_product<minor::depth, minor::depth>;
/// … whose tiles are left behind their end only.
using undivided_product = tile_product<minor::depth, minor::depth, bfloat16, as_it_is, tile_polls::never>;

static_assert(side_task<plain_product>);

}  // namespace lull
