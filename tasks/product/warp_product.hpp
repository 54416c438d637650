// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/world.hpp>
#include <lull/tasks/product/bfloat16.hpp>
#include <lull/tasks/product/matrix.hpp>

namespace lull {

/// What a warp of 32 gives a product; all but `fetch` and the two that wait for it are for whole warps. On a GPU
/// `cuda_warp` (warp.cuh), in tests one that follows the manual. Source: PTX ISA 9.0, 9.7.14.5.8 (fragments of
/// mma.m16n8k16), 9.7.14.5.15 (ldmatrix).
///   address, address_of(pointer)      of the team's storage; addresses may be added to, in bytes
///   fetch(to, from, there)            begins to copy 16 bytes; zeros where not `there`
///   end_group(), await_groups<N>()    what was begun so far is a group; waits until only the last N of one's own are
///                                     on their way
///   load<Count, Transposed>(into, row)  Count matrices of 8 × 8 bf16, whose rows the lanes point at, eight lanes a
///                                     matrix
///   multiply(sums, a, b0, b1)         sums += a × b, 16 × 16 by 16 × 8
///
/// One tile of a product in bf16, sums in fp32. Panels of 64 of the depth come through a ring in the team's storage;
/// rows of 16-byte pieces stand there in an order of their own, so that the eight rows of a small matrix never meet in
/// a bank. Eight warps, two by four.
template <class Warp, factors How, std::uint32_t Side>
class warp_product {
 public:
  static constexpr std::uint32_t step = 64;  // of the depth
  static constexpr std::uint32_t panel_bytes = Side * step * 2;
  static constexpr std::uint32_t stages = 48 * 1024 / (2 * panel_bytes);
  static_assert(Side == 32 || Side == 64);
  static_assert(stages * 2 * panel_bytes <= product_storage_bytes && Side * (Side + 8) * 4 <= product_storage_bytes);

  LULL_HD explicit warp_product(void* storage) noexcept : storage_(Warp::address_of(storage)) {}

  /// Collective.
  LULL_HD product_sums run(auto const& team, matrix_ref<bfloat16> a, matrix_ref<bfloat16> b, std::uint64_t depth,
                           product_sums place, polling polls) const noexcept {
    constexpr std::uint32_t steps_of_poll = 1024 / step;
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const steps = static_cast<std::uint32_t>((depth + step - 1) / step);
    float sums[blocks][blocks][4] = {};
    for (std::uint32_t at = 0; at + 1 < stages; ++at) {
      if (at < steps) fetch(a, b, place, rank, at, at);
      Warp::end_group();
    }
    std::uint32_t here = 0;
    std::uint32_t ahead = stages - 1;
    for (std::uint32_t at = 0; at < steps; ++at) {
      if (polls == polling::yes && at != 0 && at % steps_of_poll == 0 && team.leaving()) {
        Warp::template await_groups<0>();  // nothing may arrive in a storage that is another's by then
        place.left = true;
        return place;
      }
      Warp::template await_groups<static_cast<int>(stages) - 2>();
      team.sync();  // all threads' pieces are there, and no thread reads the stage that is filled next
      if (at + stages - 1 < steps) fetch(a, b, place, rank, at + stages - 1, ahead);
      Warp::end_group();
      add_step(sums, rank, here);
      here = here + 1 == stages ? 0 : here + 1;
      ahead = ahead + 1 == stages ? 0 : ahead + 1;
    }
    Warp::template await_groups<0>();
    team.sync();
    store(sums, rank, place);
    team.sync();
    return place;
  }

 private:
  using address = typename Warp::address;
  static constexpr std::uint32_t blocks = Side / 32;                      // of 16 rows, and of 8 columns, a warp
  static constexpr bool left_by_depth = How != factors::left_transposed;  // its rows in storage run along the depth
  static constexpr bool right_by_depth = How == factors::right_transposed;

  /// Returns where a piece of 16 bytes is in its panel.
  template <bool ByDepth>
  LULL_HD static std::uint32_t offset_of(std::uint32_t row, std::uint32_t piece) noexcept {
    constexpr std::uint32_t pieces = ByDepth ? step / 8 : Side / 8;
    if constexpr (pieces == 8)
      return (row * pieces + (piece ^ (row & 7))) * 16;
    else
      return (row * pieces + (piece ^ (row >> 1 & 3))) * 16;  // two rows lie in one line of banks
  }

  LULL_HD void fetch(matrix_ref<bfloat16> a, matrix_ref<bfloat16> b, product_sums const& place, std::uint32_t rank,
                     std::uint32_t at, std::uint32_t stage) const noexcept {
    fetch_panel<left_by_depth>(a, place.row, at, storage_ + stage * 2 * panel_bytes, rank);
    fetch_panel<right_by_depth>(b, place.column, at, storage_ + (stage * 2 + 1) * panel_bytes, rank);
  }

  /// Beyond the matrix there are zeros.
  template <bool ByDepth>
  LULL_HD static void fetch_panel(matrix_ref<bfloat16> from, std::uint64_t first, std::uint32_t at, address to,
                                  std::uint32_t rank) noexcept {
    constexpr std::uint32_t pieces = ByDepth ? step / 8 : Side / 8;
    constexpr std::uint32_t all = panel_bytes / 16;
    std::uint64_t const row0 = ByDepth ? first : std::uint64_t{at} * step;
    std::uint64_t const column0 = ByDepth ? std::uint64_t{at} * step : first;
    for (std::uint32_t each = 0; each < all; each += product_threads) {
      std::uint32_t const row = (each + rank) / pieces;
      std::uint32_t const piece = (each + rank) % pieces;
      bool const there = row0 + row < from.rows && column0 + piece * 8 < from.columns;
      Warp::fetch(to + offset_of<ByDepth>(row, piece),
                  there ? from.at + (row0 + row) * from.columns + column0 + piece * 8 : from.at, there);
    }
  }

  LULL_HD void add_step(float (&sums)[blocks][blocks][4], std::uint32_t rank, std::uint32_t stage) const noexcept {
    address const left = storage_ + stage * 2 * panel_bytes;
    address const right = left + panel_bytes;
    std::uint32_t const row = rank / 128 * (Side / 2);
    std::uint32_t const column = rank / 32 % 4 * (Side / 4);
    std::uint32_t const matrix = rank % 32 / 8;  // of the four whose rows the lanes point at
    std::uint32_t const inner = rank % 8;
    // unrolled: addresses differ by constants, and sums stay in registers
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (std::uint32_t k = 0; k < step; k += 16) {
      std::uint32_t a[blocks][4];
      std::uint32_t b[2 * blocks];
      for (std::uint32_t block = 0; block < blocks; ++block) {
        std::uint32_t const across = row + block * 16 + matrix % 2 * 8;
        std::uint32_t const along = k + matrix / 2 * 8;
        std::uint32_t const at = left_by_depth ? offset_of<left_by_depth>(across + inner, along / 8)
                                               : offset_of<left_by_depth>(along + inner, across / 8);
        Warp::template load<4, !left_by_depth>(a[block], left + at);
      }
      std::uint32_t const across = column + (blocks == 2 ? matrix / 2 * 8 : 0);
      std::uint32_t const along = k + matrix % 2 * 8;
      std::uint32_t const at = right_by_depth ? offset_of<right_by_depth>(across + inner, along / 8)
                                              : offset_of<right_by_depth>(along + inner, across / 8);
      Warp::template load<2 * blocks, !right_by_depth>(b, right + at);
      for (std::uint32_t i = 0; i < blocks; ++i) {
        for (std::uint32_t j = 0; j < blocks; ++j) Warp::multiply(sums[i][j], a[i], b[2 * j], b[2 * j + 1]);
      }
    }
  }

  LULL_HD static void store(float const (&sums)[blocks][blocks][4], std::uint32_t rank,
                            product_sums const& place) noexcept {
    std::uint32_t const row = rank / 128 * (Side / 2) + rank % 32 / 4;
    std::uint32_t const column = rank / 32 % 4 * (Side / 4) + rank % 4 * 2;
    for (std::uint32_t i = 0; i < blocks; ++i) {
      for (std::uint32_t j = 0; j < blocks; ++j) {
        for (std::uint32_t half = 0; half < 2; ++half) {
          float* const to = place.at + (row + i * 16 + half * 8) * (Side + 8) + column + j * 8;
          to[0] = sums[i][j][2 * half];
          to[1] = sums[i][j][2 * half + 1];
        }
      }
    }
  }

  address storage_;
};

/// Does multiply_thin in bf16. Each warp has 16 columns at a time; it loads all that they need before using any.
template <class Warp>
LULL_HD void warp_thin_product(auto const& team, matrix_ref<bfloat16> a, matrix_ref<bfloat16> b, bfloat16 const* mask,
                               bfloat16* to) noexcept {
  constexpr std::uint32_t halves = thin_rows / 8;
  constexpr std::uint32_t together = 2;  // times 8 columns: as many as registers hold
  auto const rank = static_cast<std::uint32_t>(team.rank());
  std::uint32_t const inner = rank % 32 / 4;
  std::uint32_t const pair = rank % 4 * 2;
  auto const pair_of = [](bfloat16 const* from) { return *reinterpret_cast<std::uint32_t const*>(from); };
  for (std::uint64_t first = rank / 32 * (8 * together); first < b.rows; first += product_threads / 32 * 8 * together) {
    std::uint32_t masks[together][halves];
    for (std::uint32_t t = 0; t < together; ++t) {
      for (std::uint32_t h = 0; h < halves; ++h) {
        std::uint64_t const row = h * 8 + inner;
        bool const there = row < a.rows && first + t * 8 < b.rows;
        masks[t][h] = there ? pair_of(mask + row * b.rows + first + t * 8 + pair) : 0;
      }
    }
    float sums[together][halves / 2][4] = {};
    for (std::uint64_t k = 0; k < a.columns; k += 16) {
      bool const whole = k + 8 < a.columns;  // columns are a multiple of 8, the depth of a step is 16
      std::uint32_t left[halves / 2][4];
      for (std::uint32_t h = 0; h < halves; ++h) {
        std::uint64_t const row = h * 8 + inner;
        bfloat16 const* const from = a.at + row * a.columns + k + pair;
        left[h / 2][h % 2] = row < a.rows ? pair_of(from) : 0;
        left[h / 2][h % 2 + 2] = row < a.rows && whole ? pair_of(from + 8) : 0;
      }
      for (std::uint32_t t = 0; t < together; ++t) {
        bfloat16 const* const from = b.at + (first + t * 8 + inner) * b.columns + k + pair;
        bool const there = first + t * 8 < b.rows;
        std::uint32_t const b0 = there ? pair_of(from) : 0;
        std::uint32_t const b1 = there && whole ? pair_of(from + 8) : 0;
        for (std::uint32_t i = 0; i < halves / 2; ++i) Warp::multiply(sums[t][i], left[i], b0, b1);
      }
    }
    for (std::uint32_t t = 0; t < together; ++t) {
      for (std::uint32_t h = 0; h < halves; ++h) {
        std::uint64_t const row = h * 8 + inner;
        if (row >= a.rows || first + t * 8 >= b.rows) continue;
        std::uint32_t const held = masks[t][h];
        auto const open = [&](std::uint32_t shift) {  // above 0, and a number
          std::uint32_t const bits = held >> shift & 0xffffU;
          return bits != 0 && bits <= 0x7f80U;
        };
        std::uint32_t const low = open(0) ? bfloat16{sums[t][h / 2][h % 2 * 2]}.bits : 0U;
        std::uint32_t const high = open(16) ? bfloat16{sums[t][h / 2][h % 2 * 2 + 1]}.bits : 0U;
        *reinterpret_cast<std::uint32_t*>(to + row * b.rows + first + t * 8 + pair) = low | high << 16;
      }
    }
  }
}

}  // namespace lull
