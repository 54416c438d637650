// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <lull/device/side_task.hpp>
#include <lull/host/tensor_map.hpp>
#include <lull/tasks/product/bfloat16.hpp>

namespace lull {

/// Which index of an operand has neighbours in memory: the depth, over which is summed, or its side, the rows or
/// columns of the result.
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
  static constexpr team_shape shape{.threads = 384,
                                    .shared_bytes = 1024 + stages * stage_bytes + 512,
                                    .blocks_per_sm = 1,
                                    .claims = claiming::by_task};

  struct tile {
    std::uint32_t count;   // which matrix
    std::uint32_t row;     // first
    std::uint32_t column;  // first
  };

  LULL_HD explicit large_tiles(large_shape const& of) noexcept
      : down_((of.rows + rows - 1) / rows), across_((of.columns + columns - 1) / columns), count_(of.count) {}

  LULL_HD std::uint64_t number() const noexcept { return std::uint64_t{down_} * across_ * count_; }

  /// Column by column within a band of 16 tiles of rows, so that tiles at work at the same time share their operands in
  /// the L2. In 32 bits: a longer division would be a call.
  LULL_HD tile at(std::uint64_t item) const noexcept {
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

/// Operands and shape of a × b. `maps`: (2,), of a and b (maps_of in product_operands.hpp makes them), in memory of the
/// machine; null on CPU threads.
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

/// How a tile that is not whole is left when the stay ends: at once, and done again (`undone`); at once with its sums
/// stored, and continued (`saved`); or only after its end, which shows what polling within it costs (`whole`).
enum class tile_leaving { undone, saved, whole };

/// Where sums are saved: for each tile, each warpgroup's. What is there is a short cut and no state: zeroed steps make
/// all tiles begin again, and end the same.
struct saved_sums {
  static constexpr std::uint32_t parts = 2;  // of a tile: its upper and its lower half

  float* at = nullptr;  // (tiles, parts, large_tiles::rows / parts × large_tiles::columns), as registers hold them;
                        // null on CPU threads
  /// (tiles, parts), how many of the depth they contain; on CPU threads rows of the tile that are stored.
  std::uint32_t* steps = nullptr;
};

}  // namespace lull
