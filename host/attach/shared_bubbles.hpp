// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include <lull/host/attach/shared_memory.hpp>

namespace lull::attach {

/// The bubbles of a trainer's streams as it tells them to workers of other processes. Each call is a few stores.
/// Thread-safe; calls about one gate come one after another.
class shared_bubbles {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  shared_page& page() noexcept { return memory_.page(); }
  int descriptor_of() const noexcept { return memory_.descriptor_of(); }

  /// Returns the number of a site's name; nothing if it is too long, or no further one has room: then attached workers
  /// do not work there.
  std::optional<std::uint32_t> number_of(std::string_view site) noexcept;

  /// Returns whose turn it is: the attached worker that may work in the next bubbles; 0: none.
  std::uint32_t on_turn() const noexcept { return turn_.load(std::memory_order_relaxed); }
  void give_turn(std::uint32_t worker) noexcept { turn_.store(worker, std::memory_order_relaxed); }

  /// Tells that the bubble's opening edge is enqueued; its host is inside.
  void tell(std::uint32_t gate, announced_bubble const& what) noexcept;
  /// Tells that its closing edge is enqueued, for which the host came at `left`.
  void tell_close(std::uint32_t gate, std::uint64_t bubble, time_point left) noexcept;

 private:
  owned_page memory_;
  std::mutex naming_;
  std::atomic<std::uint32_t> turn_{0};
};

}  // namespace lull::attach
