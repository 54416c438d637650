// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/tasks/product/large_product.hpp>
#include <lull/tasks/product/tile_producer.cuh>
#include <lull/tasks/product/wgmma.cuh>

/// Multiplies a tile on the tensor cores of compute capability 9.0, by 384 threads. Warp 0 claims, by rank 0; warp 1
/// feeds: has the operands copied into a ring of stages; warp 2 polls. Two warpgroups multiply 64 rows of the tile
/// each. While the products just begun run, each warpgroup checks for itself whether the stay has ended: warpgroups
/// that vote together run in step and cost more than the polls (docs/decisions/leaving-within-a-tile.md).
namespace lull::detail {

/// One of the two warpgroups that multiply.
template <tile_leaving Leaving, minor A, minor B, class Number>
class tile_consumer {
 public:
  __device__ tile_consumer(operand_buffer& buffer, std::uint32_t stages, large_product<A, B> const& of,
                           product_result<Number> const& to, saved_sums const& saved) noexcept
      : buffer_(buffer),
        of_(of),
        to_(to),
        saved_(saved),
        group_(static_cast<int>(threadIdx.x / 128) - 1),
        thread_(threadIdx.x % 128),
        a_(tile_stage<A, B>::a_in(stages, group_)),
        b_(tile_stage<A, B>::b_in(stages)) {}

  __device__ __forceinline__ void run(auto const& finish) noexcept {
    std::uint32_t const steps = (of_.shape.depth + large_tiles::depth - 1) / large_tiles::depth;
    for (std::uint32_t done = 0;;) {
      ptx::await(ptx::window(&buffer_.filled[place_.slot]), place_.parity);
      if (buffer_.no_more[place_.slot] != 0) return;
      large_tiles::tile const at = buffer_.at[place_.slot];
      resumed const where = find();
      if (!skip(where)) break;
      float sums[128];
      if (!multiply(sums, steps, where)) break;
      store(sums, at, finish);
      if (thread_ == 0) buffer_.done[group_] = ++done;
    }
    // The team leaves: what is still being copied must arrive before the block goes.
    for (;; place_.next()) {
      ptx::await(ptx::window(&buffer_.filled[place_.slot]), place_.parity);
      if (buffer_.no_more[place_.slot] != 0) return;
      __syncwarp();  // all lanes have read it, before it may be written for the next lap
      give_back(place_.slot);
    }
  }

 private:
  static constexpr bool polls = Leaving != tile_leaving::whole;
  static constexpr bool saves = Leaving == tile_leaving::saved;
  /// Steps, of 0.7 us each. Saving and fetching sums costs as much as some ten steps.
  static constexpr std::uint32_t worth_saving = 16;

  /// Where a tile continues.
  struct resumed {
    std::uint32_t tile = 0;
    std::uint32_t step = 0;
    std::uint32_t skipped = 0;  // that are fed for the other warpgroup
  };

  __device__ __forceinline__ resumed find() const noexcept {
    if constexpr (!saves) return {};
    std::uint32_t const own = buffer_.from[place_.slot][group_];
    std::uint32_t const other = buffer_.from[place_.slot][1 - group_];
    return {buffer_.tile[place_.slot], own, own > other ? own - other : 0};
  }

  /// Returns false if there is no more.
  __device__ __forceinline__ bool skip(resumed const& where) noexcept {
    for (std::uint32_t step = 0; step < where.skipped; ++step) {
      __syncwarp();  // all lanes have read what the buffer says of it
      give_back(place_.slot);
      place_.next();
      ptx::await(ptx::window(&buffer_.filled[place_.slot]), place_.parity);
      if (buffer_.no_more[place_.slot] != 0) return false;
    }
    return true;
  }

  /// The first step's operands are there. Returns false if the stay ended first.
  __device__ __forceinline__ bool multiply(float (&sums)[128], std::uint32_t steps, resumed const& where) noexcept {
    constexpr std::uint32_t none = large_tiles::stages;
    std::uint32_t before = none;
    bool whole = true;
    if (saves && where.step != 0) {
      fetch(sums, where.tile);
      begin_step<false>(sums);
    } else {
      begin_step<true>(sums);
    }
    std::uint32_t step = where.step + 1;
    for (;; ++step) {
      // While the products just begun run, and those before them end.
      std::uint32_t const current = place_.slot;
      place_.next();
      bool const last = step == steps;
      bool const there = !last && ptx::is_over(ptx::window(&buffer_.filled[place_.slot]), place_.parity);
      ptx::await_products<1>();
      if (before != none) give_back(before);
      before = current;
      if (last) break;
      if (!there) ptx::await(ptx::window(&buffer_.filled[place_.slot]), place_.parity);
      // Checked last, so that only the products just begun are waited for. The producer may have seen the end first and
      // reported that there is no more.
      bool const goes = buffer_.no_more[place_.slot] != 0 || (polls && ptx::is_over(ptx::window(&buffer_.ended), 0));
      whole = !(polls ? ptx::any_of_warpgroup(goes, 2 + group_) : goes);
      if (!whole) break;
      begin_step<false>(sums);
    }
    ptx::await_products<0>();
    give_back(before);
    if constexpr (saves) {
      if (!whole && step - where.step >= worth_saving) save(sums, where.tile, step);
      if (whole && where.step != 0 && thread_ == 0) saved_.steps[part_of(where.tile)] = 0;  // for the next round
    }
    return whole;
  }

  __device__ std::uint32_t part_of(std::uint32_t tile) const noexcept {
    return tile * saved_sums::parts + static_cast<std::uint32_t>(group_);
  }

  /// Each thread's sums, in fours; the threads' fours are side by side.
  __device__ float4* sums_of(std::uint32_t tile) const noexcept {
    return reinterpret_cast<float4*>(saved_.at) + (std::uint64_t{part_of(tile)} * (128 / 4) * 128 + thread_);
  }
  __device__ __forceinline__ void save(float const (&sums)[128], std::uint32_t tile,
                                       std::uint32_t steps) const noexcept {
    float4* const to = sums_of(tile);
#pragma unroll
    for (std::uint32_t i = 0; i < 128 / 4; ++i)
      to[i * 128] = make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]);
    if (thread_ == 0) saved_.steps[part_of(tile)] = steps;
  }
  __device__ __forceinline__ void fetch(float (&sums)[128], std::uint32_t tile) const noexcept {
    float4 const* const from = sums_of(tile);
#pragma unroll
    for (std::uint32_t i = 0; i < 128 / 4; ++i) {
      float4 const four = from[i * 128];
      sums[4 * i] = four.x;
      sums[4 * i + 1] = four.y;
      sums[4 * i + 2] = four.z;
      sums[4 * i + 3] = four.w;
    }
  }

  /// The first step of a tile overwrites: so no sums are live between two tiles, where registers are few.
  template <bool First>
  __device__ __forceinline__ void begin_step(float (&sums)[128]) const noexcept {
    std::uint64_t const offset = std::uint64_t{place_.slot} * (large_tiles::stage_bytes / 16);
    ptx::begin_products();
#pragma unroll
    for (std::uint32_t i = 0; i < large_tiles::depth / 16; ++i) {
      std::uint64_t const a = a_ + offset + i * tile_stage<A, B>::next_a;
      std::uint64_t const b = b_ + offset + i * tile_stage<A, B>::next_b;
      if (First && i == 0) {
        ptx::multiply<false, A == minor::side, B == minor::side>(sums, a, b);
      } else {
        ptx::multiply<true, A == minor::side, B == minor::side>(sums, a, b);
      }
    }
    ptx::end_products();
  }

  __device__ void give_back(std::uint32_t slot) const noexcept {
    if (thread_ % 32 == 0) ptx::arrive(ptx::window(&buffer_.emptied[slot]));
  }

  /// A thread holds, of each 8 columns, two neighbours in row lane / 4 of its warp's 16 and two in the row 8 below (PTX
  /// ISA, wgmma's accumulator fragment).
  __device__ __forceinline__ void store(float (&sums)[128], large_tiles::tile const& at,
                                        auto const& finish) const noexcept {
    large_tiles::tile const own{at.count,
                                at.row + static_cast<std::uint32_t>(group_) * 64 + thread_ / 32 * 16 + thread_ % 32 / 4,
                                at.column + thread_ % 4 * 2};
    Number* const to = to_.at + at.count * to_.step;
    bool const whole = at.row + large_tiles::rows <= of_.shape.rows &&
                       at.column + large_tiles::columns <= of_.shape.columns &&
                       (to_.pitch * sizeof(Number)) % 16 == 0 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
    if (whole) {
      store_whole(sums, own, to + own.row * to_.pitch + at.column, finish);
    } else {
      store_piece(sums, own, to + own.row * to_.pitch, finish);
    }
  }

  /// `to`: the tile's first column in the thread's row.
  __device__ __forceinline__ void store_whole(float (&sums)[128], large_tiles::tile const& own, Number* to,
                                              auto const& finish) const noexcept {
#pragma unroll
    for (std::uint32_t columns = 0; columns < large_tiles::columns; columns += 32) {
#pragma unroll
      for (std::uint32_t half = 0; half < 2; ++half) {
        float value[8];
#pragma unroll
        for (std::uint32_t i = 0; i < 8; ++i) {
          value[i] = finish(own.count, own.row + 8 * half, own.column + columns + i / 2 * 8 + i % 2,
                            sums[columns / 2 + i / 2 * 4 + half * 2 + i % 2]);
        }
        store_row(to + half * 8 * to_.pitch + columns, value);
      }
    }
  }

  /// `to`: the thread's row.
  __device__ __forceinline__ void store_piece(float (&sums)[128], large_tiles::tile const& own, Number* to,
                                              auto const& finish) const noexcept {
#pragma unroll
    for (std::uint32_t half = 0; half < 2; ++half) {
#pragma unroll
      for (std::uint32_t i = 0; i < 64; ++i) {
        std::uint32_t const column = own.column + i / 2 * 8 + i % 2;
        if (own.row + 8 * half < of_.shape.rows && column < of_.shape.columns) {
          to[column] =
              static_cast<Number>(finish(own.count, own.row + 8 * half, column, sums[i / 2 * 4 + half * 2 + i % 2]));
        }
        asm volatile("" ::: "memory");
      }
      to += 8 * to_.pitch;
    }
  }

  /// Four threads have 32 neighbours of a row, two each of every eight.
  __device__ __forceinline__ void store_row(Number* to, float const (&value)[8]) const noexcept {
    if constexpr (sizeof(Number) == 4) {
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i) {
        *reinterpret_cast<float2*>(to + i * 8 + thread_ % 4 * 2) = make_float2(value[2 * i], value[2 * i + 1]);
      }
    } else {
      // The four exchange them, so that each has eight neighbours.
      std::uint32_t pairs[4];
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i) {
        pairs[i] = ptx::pair_of_bf16(value[2 * i], value[2 * i + 1]);
      }
      exchange(pairs[0], pairs[1], 1);
      exchange(pairs[2], pairs[3], 1);
      exchange(pairs[0], pairs[2], 2);
      exchange(pairs[1], pairs[3], 2);
      *reinterpret_cast<uint4*>(to + thread_ % 4 * 8) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    }
  }
  /// One step of a transposition among lanes: lanes with the bit keep `high` and give `low` away, the others the
  /// reverse.
  __device__ __forceinline__ void exchange(std::uint32_t& low, std::uint32_t& high, std::uint32_t bit) const noexcept {
    bool const upper = (thread_ & bit) != 0;
    std::uint32_t const other = __shfl_xor_sync(~0U, upper ? low : high, static_cast<int>(bit));
    (upper ? low : high) = other;
  }

  operand_buffer& buffer_;
  large_product<A, B> const& of_;
  product_result<Number> const& to_;
  saved_sums const& saved_;
  int const group_;
  std::uint32_t const thread_;
  std::uint64_t const a_;
  std::uint64_t const b_;
  stage_place place_;
};

template <tile_leaving Leaving, minor A, minor B, class Number>
__device__ void multiply_on_tensor_cores(auto const& team, chunk c, large_product<A, B> const& of,
                                         product_result<Number> const& to, auto const& finish,
                                         saved_sums const& saved) noexcept {
  std::uint32_t const begin = ptx::window(team.shared());
  std::uint32_t const stages = (begin + 1023) / 1024 * 1024;
  auto& buffer = *reinterpret_cast<operand_buffer*>(static_cast<unsigned char*>(team.shared()) + (stages - begin) +
                                                    large_tiles::stages * large_tiles::stage_bytes);
  std::uint32_t const warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    constexpr std::uint32_t reading_warps = 8;
    for (std::uint32_t slot = 0; slot < large_tiles::stages; ++slot) {
      ptx::barrier_init(ptx::window(&buffer.filled[slot]), 1);
      ptx::barrier_init(ptx::window(&buffer.emptied[slot]), reading_warps);
    }
    ptx::barrier_init(ptx::window(&buffer.ended), 1);
    ptx::barrier_init(ptx::window(&buffer.all_fed), 1);
    ptx::barrier_init(ptx::window(&buffer.asked), 1);
    ptx::barrier_init(ptx::window(&buffer.answered), 1);
    buffer.done[0] = 0;
    buffer.done[1] = 0;
    buffer.answers = 0;
    buffer.taken = 0;
    ptx::publish_barriers();
  }
  team.sync();
  // Three warpgroups of the 168 registers that a block of 384 threads is launched with; sums alone are 128.
  constexpr int launched = 168;
  if (warp >= 4) {
    ptx::take_registers<208>();
    tile_consumer<Leaving, A, B, Number>{buffer, stages, of, to, saved}.run(finish);
    ptx::give_up_registers<launched>();
  } else {
    ptx::give_up_registers<88>();
    if (threadIdx.x == 0) {
      answer_claims(team, buffer);
    } else if (threadIdx.x == 32) {
      tile_producer<Leaving, A, B>{buffer, stages, of, saved}.run(c);
    } else if (Leaving != tile_leaving::whole && threadIdx.x == 64) {
      poll(team, buffer);
    }
    __syncwarp();
  }
  team.sync();
  // Not earlier: an idle warp would take back registers for which those that multiply still wait.
  if (warp < 4) ptx::take_registers<launched>();
  if (threadIdx.x != 0) return;
  hand_back_undone(team, buffer);
  for (std::uint32_t slot = 0; slot < large_tiles::stages; ++slot) {
    ptx::barrier_end(ptx::window(&buffer.filled[slot]));
    ptx::barrier_end(ptx::window(&buffer.emptied[slot]));
  }
  ptx::barrier_end(ptx::window(&buffer.ended));
  ptx::barrier_end(ptx::window(&buffer.all_fed));
  ptx::barrier_end(ptx::window(&buffer.asked));
  ptx::barrier_end(ptx::window(&buffer.answered));
}

}  // namespace lull::detail
