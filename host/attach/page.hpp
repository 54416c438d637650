// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <lull/device/gate.hpp>
#include <lull/host/executor.hpp>

namespace lull::attach {

/// The number of this layout and of the messages (messages.hpp). Processes with different ones refuse each other.
inline constexpr std::uint32_t protocol = 1;

inline constexpr std::size_t max_gates = 16;
inline constexpr std::size_t max_sites = 256;
inline constexpr std::size_t max_site_bytes = 119;  // of a name
inline constexpr std::uint64_t kept_bubbles = 256;  // of each gate; the oldest is overwritten

/// What a trainer tells of one bubble whose edges are enqueued. Only the trainer writes it, so a reader that finds a
/// bubble half written, or overwritten, does without that bubble.
struct alignas(64) announcement {
  std::atomic<std::uint64_t> version;   // 2 × bubble while it is being written, 2 × bubble + 1 when it is whole
  std::atomic<std::uint32_t> value;     // of the gate while it is open
  std::atomic<std::uint32_t> site;      // which name
  std::atomic<std::uint32_t> worker;    // who may work in it; 0: none of the attached
  std::atomic<std::uint32_t> halved;    // not zero: with half of the blocks
  std::atomic<std::int64_t> called_ns;  // when the host opened it, by the steady clock …
  std::atomic<std::int64_t> left_ns;    // … and when it came to close it; 0: it is inside
};

/// A bubble as a reader found it.
struct announced_bubble {
  using time_point = std::chrono::steady_clock::time_point;

  std::uint64_t bubble = 0;
  std::uint32_t value = 0;
  std::uint32_t site = 0;
  std::uint32_t worker = 0;
  bool halved = false;
  time_point called{};
  std::optional<time_point> left{};  // none: the host is inside
};

struct shared_gate {
  gate_line line;  // unless `lines` names others
  opening_line opening;
  alignas(128) std::atomic<std::uint64_t> opened;  // the latest bubble that was announced
  std::array<announcement, kept_bubbles> last;     // by the low bits of the bubble's number

  announcement const& of(std::uint64_t bubble) const noexcept { return last[bubble % kept_bubbles]; }
  announcement& of(std::uint64_t bubble) noexcept { return last[bubble % kept_bubbles]; }
};

/// What a trainer shares with workers of other processes, which map it for reading alone: the trainer follows nothing
/// that another process can write. Zeros at first.
struct shared_page {
  std::array<std::array<char, max_site_bytes + 1>, max_sites> sites;  // names, each ended by a zero …
  std::atomic<std::uint32_t> named;                                   // … so many of them
  memory_handle lines;  // where a GPU has the gates' lines (max_gates,); set before another process sees the page
  std::array<shared_gate, max_gates> gates;
};

/// Returns a bubble of a gate; nothing if it is not whole, or no longer there.
inline std::optional<announced_bubble> read(shared_gate const& gate, std::uint64_t bubble) noexcept {
  announcement const& from = gate.of(bubble);
  auto const at = [](std::int64_t ns) { return announced_bubble::time_point{std::chrono::nanoseconds{ns}}; };
  // acquire: with the release of each store, a field of a later bubble shows that bubble's version below
  if (from.version.load(std::memory_order_acquire) != 2 * bubble + 1) return std::nullopt;
  announced_bubble found{.bubble = bubble,
                         .value = from.value.load(std::memory_order_acquire),
                         .site = from.site.load(std::memory_order_acquire),
                         .worker = from.worker.load(std::memory_order_acquire),
                         .halved = from.halved.load(std::memory_order_acquire) != 0,
                         .called = at(from.called_ns.load(std::memory_order_acquire))};
  if (std::int64_t const left = from.left_ns.load(std::memory_order_acquire); left != 0) found.left = at(left);
  if (from.version.load(std::memory_order_relaxed) != 2 * bubble + 1) return std::nullopt;
  return found;
}

/// Returns a site's name; empty if there is none of that number.
inline std::string site_name(shared_page const& page, std::uint32_t site) {
  // acquire: the name was written before it was counted
  if (site >= page.named.load(std::memory_order_acquire) || site >= max_sites) return {};
  auto const& name = page.sites[site];
  std::size_t length = 0;
  while (length < max_site_bytes && name[length] != '\0') ++length;
  return std::string{name.data(), length};
}

}  // namespace lull::attach
