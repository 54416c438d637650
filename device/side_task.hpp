// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <lull/device/position.hpp>

namespace lull {

/// What a task is built for; constants of the task, never tuned.
struct team_shape {
  int threads = 256;             // of a team on a GPU, a multiple of 32
  std::uint32_t steps = 1;       // phases a round
  std::size_t shared_bytes = 0;  // of team storage
  int blocks_per_sm = 0;         // that must fit a GPU's SM, registers being limited accordingly; 0: as many as happen to
};

/// The largest functor that a slot holds.
inline constexpr std::size_t most_functor_bytes = 512;

/// A functor as slots and launches carry it.
struct functor_bytes {
  alignas(16) unsigned char bytes[most_functor_bytes] = {};
};

/// What a task may ask of its team. Calls marked "Collective" are made by all threads of the team or by none.
struct team_archetype {
  int rank() const noexcept;
  int size() const noexcept;
  void sync() const noexcept;                    // Collective: barrier, and memory order among the team
  bool leaving() const noexcept;                 // Collective: true: return at once, with nothing stored; the chunk is handed back
  void* shared() const noexcept;                 // shape.shared_bytes, 16-byte aligned; whatever the last chunk left there
  template <class T>
  T sum(T value) const noexcept;                 // Collective: sum over ranks, in a fixed order, to all
  template <class T, class Op>
  T exclusive_scan(T value, T first, Op op) const noexcept;  // Collective: `first`, then the values of the ranks below, in a fixed order
};

/// A functor small and plain enough to be copied into a slot.
template <class T>
concept slot_sized = std::is_trivially_copyable_v<T> && sizeof(T) <= most_functor_bytes && alignof(T) <= 16;

/// States `static constexpr team_shape shape`.
template <class T>
concept has_shape = requires {
  { T::shape } -> std::convertible_to<team_shape>;
  requires T::shape.threads > 0 && T::shape.threads % 32 == 0 && T::shape.threads <= 1024 && T::shape.steps > 0;
  requires T::shape.blocks_per_sm >= 0 && T::shape.blocks_per_sm * T::shape.threads <= 2048;
};

/// `extent(position, fed)`: items of a phase, or `finished`, or `starved`. One thread calls it, between two phases.
template <class T>
concept has_extent = requires(T const& task, position at, std::uint64_t fed) {
  { task.extent(at, fed) } noexcept -> std::same_as<std::uint64_t>;
};

/// `operator()(chunk, team)`: runs the items. All threads of the team call it.
template <class T>
concept has_chunk_call = requires(T const& task, chunk c, team_archetype const& team) {
  { task(c, team) } noexcept -> std::same_as<void>;
};

/// `advance(position, team)`, optional: between two phases, by one team alone; no longer than a chunk.
template <class T>
concept has_advance = requires(T const& task, position ended, team_archetype const& team) {
  { task.advance(ended, team) } noexcept -> std::same_as<void>;
};

/// A side task, device half. What it promises: an item's result depends on its index and on earlier phases only; chunks
/// have a bounded cost whatever the data; nothing is stored to global memory before a chunk's last `team.leaving()`; no
/// floating-point atomics; data that any phase writes is never read through the non-coherent path.
template <class T>
concept side_task = slot_sized<T> && has_shape<T> && has_extent<T> && has_chunk_call<T>;

}  // namespace lull
