// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/tasks/product/large_product.hpp>
#include <lull/tasks/product/wgmma.cuh>

/// How three warps keep the multiplying warps of a block in tiles, by one thread each: one claims, one feeds, one
/// polls.
namespace lull::detail {

/// What the warps of a block tell each other, in shared memory after the stages.
struct operand_buffer {
  /// Tiles that were begun and not done by both warpgroups: stages, the current one, and some.
  static constexpr std::uint32_t max_fed = 8;

  std::uint64_t filled[large_tiles::stages];   // barriers: the stage's operands are there
  std::uint64_t emptied[large_tiles::stages];  // … were read, by all warps
  large_tiles::tile at[large_tiles::stages];   // of the tile that the stage belongs to
  std::uint32_t no_more[large_tiles::stages];  // not 0: the stage belongs to no tile, nor does any after it
  // if tiles are saved
  std::uint32_t tile[large_tiles::stages];  // the item
  std::uint32_t from[large_tiles::stages]
                    [saved_sums::parts];  // the step at which each warpgroup goes on; the lower one is fed first
  std::uint64_t fed[max_fed];             // the last tiles fed
  std::uint64_t ended;                    // a barrier whose first phase is over when the stay is
  std::uint64_t all_fed;                  // … when there is nothing more to feed
  std::uint64_t asked;                    // a barrier: another phase of it, another chunk is wanted
  std::uint64_t answered;                 // … is here, below; none where it is empty
  std::uint64_t answer_begin;
  std::uint64_t answer_end;
  std::uint32_t answers;           // by rank 0
  std::uint32_t taken;             // … of them, by the producer
  volatile std::uint32_t done[2];  // tiles, by each warpgroup
  // where feeding stopped
  std::uint32_t begun;  // tiles, the last perhaps not to its end
  std::uint64_t next;   // of the chunk in hand: that last tile
  std::uint64_t end;    // … none where it is next
};
static_assert(sizeof(operand_buffer) <= 512);
// The most that is handed back: those, and a chunk that was claimed early.
static_assert(large_tiles::stages + 2 <= operand_buffer::max_fed && operand_buffer::max_fed + 1 <= max_undone);

/// Where a stage's operands are, and how the products find them.
template <minor A, minor B>
struct tile_stage {
  static constexpr std::uint32_t b_offset = large_tiles::rows * large_tiles::depth * sizeof(bfloat16);
  static constexpr std::uint32_t block = 64 * 64 * sizeof(bfloat16);  // of 64 sides and 64 of the depth
  static constexpr std::uint32_t eight_rows = 1024;
  // From one 16 of the depth to the next, in units of 16 bytes: two along a row, or 16 rows further.
  static constexpr std::uint64_t next_a = A == minor::depth ? 2 : 128;
  static constexpr std::uint64_t next_b = B == minor::depth ? 2 : 128;

  __device__ static std::uint64_t a_in(std::uint32_t stage, int group) noexcept {
    return ptx::matrix_in_shared(stage + static_cast<std::uint32_t>(group) * block, A == minor::depth ? 16 : block,
                                 eight_rows);
  }
  __device__ static std::uint64_t b_in(std::uint32_t stage) noexcept {
    return ptx::matrix_in_shared(stage + b_offset, B == minor::depth ? 16 : block, eight_rows);
  }

  /// One thread copies the operands of one step into the stage.
  __device__ static void fill(std::uint32_t stage, std::uint32_t barrier, tensor_map const* maps,
                              large_tiles::tile const& at, std::uint32_t k) noexcept {
    ptx::arrive_expecting(barrier, large_tiles::stage_bytes);
    fill_side<A>(stage, barrier, maps, at.row, k, at.count, large_tiles::rows);
    fill_side<B>(stage + b_offset, barrier, maps + 1, at.column, k, at.count, large_tiles::columns);
  }

 private:
  template <minor Minor>
  __device__ static void fill_side(std::uint32_t to, std::uint32_t barrier, tensor_map const* map, std::uint32_t side,
                                   std::uint32_t k, std::uint32_t count, std::uint32_t sides) noexcept {
    auto const x = static_cast<int>(k);
    auto const y = static_cast<int>(side);
    auto const z = static_cast<int>(count);
    if constexpr (Minor == minor::depth) {
      ptx::copy_box(to, map, barrier, x, y, z);
    } else {
      for (std::uint32_t i = 0; i < sides; i += 64)
        ptx::copy_box(to + i / 64 * block, map, barrier, y + static_cast<int>(i), x, z);
    }
  }
};

/// A place in the ring of stages: which, and in which lap.
struct stage_place {
  std::uint32_t slot = 0;
  std::uint32_t parity = 0;

  __device__ void next() noexcept {
    if (++slot == large_tiles::stages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

/// Rank 0 claims a chunk whenever one is wanted.
__device__ inline void answer_claims(auto const& team, operand_buffer& buffer) noexcept {
  for (std::uint32_t answers = 0; !ptx::is_over(ptx::window(&buffer.all_fed), 0);) {
    if (!ptx::is_over(ptx::window(&buffer.asked), answers & 1)) continue;
    chunk const found = ptx::is_over(ptx::window(&buffer.ended), 0) ? chunk{} : team.more();
    buffer.answer_begin = found.begin;
    buffer.answer_end = found.end;
    buffer.answers = ++answers;
    ptx::arrive(ptx::window(&buffer.answered));
  }
}

/// One thread of another warp polls for the end of the stay, because a claim takes two trips to the L2.
__device__ inline void poll(auto const& team, operand_buffer& buffer) noexcept {
  while (!team.stay_ended()) {
    if (ptx::is_over(ptx::window(&buffer.all_fed), 0)) return;
  }
  ptx::arrive(ptx::window(&buffer.ended));
}

/// One thread of another warp has the operands copied until the stay ends or no tile is left. Claims take two trips to
/// the L2, so it asks for the next chunk some steps before it needs it. It does not ask earlier, because other blocks
/// cannot do what this block has claimed.
template <tile_leaving Leaving, minor A, minor B>
class tile_producer {
 public:
  __device__ tile_producer(operand_buffer& buffer, std::uint32_t stages, large_product<A, B> const& of,
                           saved_sums const& saved) noexcept
      : buffer_(buffer),
        stages_(stages),
        of_(of),
        saved_(saved),
        steps_((of.shape.depth + large_tiles::depth - 1) / large_tiles::depth),
        asks_at_(steps_ > asks_ahead ? steps_ - asks_ahead : 0) {}

  __device__ void run(chunk c) noexcept {
    ptx::acquire_map(&of_.maps[0]);
    ptx::acquire_map(&of_.maps[1]);
    ptx::publish_to_copies();
    next_ = c.begin;
    end_ = c.end;
    large_tiles const tiles{of_.shape};
    for (;;) {
      buffer_.fed[fed_++ % operand_buffer::max_fed] = next_;
      if (!produce(tiles.at(next_))) break;
      if (++next_ == end_ && !take_answer()) break;
    }
    ptx::await(barrier(buffer_.emptied), place_.parity ^ 1);
    buffer_.no_more[place_.slot] = 1;
    ptx::arrive(barrier(buffer_.filled));
    buffer_.begun = fed_;
    buffer_.next = next_;
    buffer_.end = end_;
    ptx::arrive(ptx::window(&buffer_.all_fed));
  }

 private:
  static constexpr std::uint32_t asks_ahead = 8;  // steps

  /// Returns false if the stay ended before the tile was fed.
  __device__ bool produce(large_tiles::tile const& at) noexcept {
    std::uint32_t from[saved_sums::parts] = {};
    if constexpr (Leaving == tile_leaving::saved) {
      for (std::uint32_t part = 0; part < saved_sums::parts; ++part) {
        std::uint32_t const steps = saved_.steps[next_ * saved_sums::parts + part];
        from[part] = steps < steps_ ? steps : 0;  // a tile of which nothing was fed would never end
      }
    }
    std::uint32_t const first = from[0] < from[1] ? from[0] : from[1];
    std::uint32_t const asks_at = first > asks_at_ ? first : asks_at_;
    for (std::uint32_t step = first; step < steps_; ++step) {
      if (step == asks_at && next_ + 1 == end_) ptx::arrive(ptx::window(&buffer_.asked));
      ptx::await(barrier(buffer_.emptied), place_.parity ^ 1);
      if (ptx::is_over(ptx::window(&buffer_.ended), 0)) return false;
      buffer_.at[place_.slot] = at;
      buffer_.no_more[place_.slot] = 0;
      if constexpr (Leaving == tile_leaving::saved) {
        buffer_.tile[place_.slot] = static_cast<std::uint32_t>(next_);
        for (std::uint32_t part = 0; part < saved_sums::parts; ++part) buffer_.from[place_.slot][part] = from[part];
      }
      tile_stage<A, B>::fill(stages_ + place_.slot * large_tiles::stage_bytes, barrier(buffer_.filled), of_.maps, at,
                             step * large_tiles::depth);
      place_.next();
    }
    return true;
  }

  /// Returns false if there is no more.
  __device__ bool take_answer() noexcept {
    ptx::await(ptx::window(&buffer_.answered), taken_ & 1);
    buffer_.taken = ++taken_;
    next_ = buffer_.answer_begin;
    end_ = buffer_.answer_end;
    return next_ != end_;
  }

  __device__ std::uint32_t barrier(std::uint64_t const* of) const noexcept { return ptx::window(of + place_.slot); }

  operand_buffer& buffer_;
  std::uint32_t const stages_;
  large_product<A, B> const& of_;
  saved_sums const& saved_;
  std::uint32_t const steps_;
  std::uint32_t const asks_at_;
  stage_place place_;
  std::uint64_t next_ = 0;  // of the chunk in hand
  std::uint64_t end_ = 0;
  std::uint32_t fed_ = 0;
  std::uint32_t taken_ = 0;
};

/// Rank 0 hands back what both warpgroups have not done, and what was claimed early and not begun; called when all
/// others are through.
__device__ inline void hand_back_undone(auto const& team, operand_buffer const& buffer) noexcept {
  std::uint32_t const done = buffer.done[0] < buffer.done[1] ? buffer.done[0] : buffer.done[1];
  bool const in_hand = buffer.next < buffer.end;
  std::uint32_t const whole = buffer.begun - (in_hand ? 1 : 0);
  for (std::uint32_t at = done; at < whole; ++at) {
    std::uint64_t const tile = buffer.fed[at % operand_buffer::max_fed];
    team.hand_back({{}, tile, tile + 1});
  }
  if (in_hand) team.hand_back({{}, buffer.next, buffer.end});
  if (buffer.taken != buffer.answers && buffer.answer_begin != buffer.answer_end)
    team.hand_back({{}, buffer.answer_begin, buffer.answer_end});
}

}  // namespace lull::detail
