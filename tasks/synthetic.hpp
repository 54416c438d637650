// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>

namespace lull {

/// Only arithmetic: every item is `fma` dependent multiply-adds in each thread. The compute-bound extreme of a side
/// task.
struct compute_task {
  static constexpr team_shape shape{.threads = 1024, .steps = 1, .shared_bytes = 0, .blocks_per_sm = 2};

  float* sink;          // (1,) never written; keeps the arithmetic alive
  std::uint64_t items;  // a round
  std::uint64_t rounds;
  std::uint32_t fma;

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    return at.round < rounds ? items : finished;
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    float x = static_cast<float>(c.begin + static_cast<std::uint64_t>(team.rank()));
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      for (std::uint32_t i = 0; i < fma; ++i) x = x * 1.0001f + 0.5f;
    }
    if (x == -1.0f) *sink = x;
  }
};

static_assert(is_side_task<compute_task>());

/// Only memory traffic: to += 2 × from, `tile` floats an item. The memory-bound extreme of a side task.
struct streaming_task {
  static constexpr team_shape shape{.threads = 512, .steps = 1, .shared_bytes = 0, .blocks_per_sm = 4};
  static constexpr std::uint64_t tile = 4096;  // 16 KiB of each array: two blocks an SM keep HBM busy

  float const* from;    // (items × tile,)
  float* to;            // (items × tile,)
  std::uint64_t items;  // a round
  std::uint64_t rounds;

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    return at.round < rounds ? items : finished;
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    struct alignas(16) four {
      float v[4];
    };
    auto const* const in = reinterpret_cast<four const*>(from);
    auto* const out = reinterpret_cast<four*>(to);
    std::uint64_t const end = c.end * (tile / 4);
    for (std::uint64_t at = c.begin * (tile / 4) + static_cast<std::uint64_t>(team.rank()); at < end;) {
      // two in flight: loads before stores
      std::uint64_t const second = at + static_cast<std::uint64_t>(team.size());
      bool const both = second < end;
      four const a = in[at];
      four b = out[at];
      four const c2 = both ? in[second] : a;
      four d = both ? out[second] : b;
      for (int i = 0; i < 4; ++i) b.v[i] += 2 * a.v[i];
      for (int i = 0; i < 4; ++i) d.v[i] += 2 * c2.v[i];
      out[at] = b;
      if (both) out[second] = d;
      at = second + static_cast<std::uint64_t>(team.size());
    }
  }
};

static_assert(is_side_task<streaming_task>());

}  // namespace lull
