// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <lull/device/side_task.hpp>

namespace lull {

/// One item, on CPU threads, that lasts until it is let go.
struct held_task {
  static constexpr team_shape shape{.threads = 32};

  std::atomic<bool>* began;
  std::atomic<bool> const* goes;

  std::uint64_t extent(position at, std::uint64_t) const noexcept { return at.round == 0 ? 1 : finished; }
  void operator()(chunk, auto const&) const noexcept {
    *began = true;
    goes->wait(false);
  }
};
static_assert(side_task<held_task>);

}  // namespace lull
