// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>

// [task]
/// Counts how often each of `bins` values occurs. Step 0: each item counts one block of the input. Step 1: each bin
/// adds up the blocks, in their order. So no two items write the same place, and no atomics are needed.
struct histogram {
  static constexpr lull::team_shape shape{.threads = 128, .steps = 2};

  std::uint8_t const* in;  // (values,)
  std::uint32_t* partial;  // (blocks, bins) zero at the start
  std::uint64_t* total;    // (bins,)
  std::uint64_t values;
  std::uint64_t per_block;  // values an item of step 0: bounds what a chunk costs
  std::uint32_t bins;

  LULL_HD std::uint64_t blocks() const noexcept { return (values + per_block - 1) / per_block; }

  LULL_HD std::uint64_t extent(lull::position at, std::uint64_t /*fed*/) const noexcept {
    if (at.round > 0) return lull::finished;
    return at.step == 0 ? blocks() : bins;
  }

  LULL_HD void operator()(lull::chunk c, auto const& team) const noexcept {
    auto const rank = static_cast<std::uint64_t>(team.rank());
    auto const size = static_cast<std::uint64_t>(team.size());
    if (c.at.step == 0) {
      for (std::uint64_t block = c.begin; block < c.end; ++block) {
        std::uint64_t const end = (block + 1) * per_block < values ? (block + 1) * per_block : values;
        for (std::uint64_t bin = rank; bin < bins; bin += size) {  // a thread owns its bins
          std::uint32_t count = 0;
          for (std::uint64_t i = block * per_block; i < end; ++i) count += in[i] == bin ? 1U : 0U;
          partial[block * bins + bin] = count;
        }
      }
      return;
    }
    for (std::uint64_t bin = c.begin + rank; bin < c.end; bin += size) {
      std::uint64_t sum = 0;
      for (std::uint64_t block = 0; block < blocks(); ++block) sum += partial[block * bins + bin];
      total[bin] = sum;
    }
  }
};

static_assert(lull::is_side_task<histogram>());
// [/task]
