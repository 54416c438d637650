// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <lull/device/position.hpp>

namespace lull {

/// What asks for the next chunk: the worker between two calls, or the task itself while it is busy
/// (team_archetype::more).
enum class claiming { by_worker, by_task };

/// What a task is built for: constants of the task, never tuned.
struct team_shape {
  int threads = 256;             // of a team on a GPU, a multiple of 32
  std::uint32_t steps = 1;       // phases a round
  std::size_t shared_bytes = 0;  // of team storage
  int blocks_per_sm = 0;         // that must fit on one SM, which limits their registers; 0: no minimum
  claiming claims = claiming::by_worker;
};

/// The most pieces that a task which claims by itself can hand back in one call.
inline constexpr int max_undone = 9;

/// Team storage that every GPU of compute capability 9.0 can give in addition to the worker's own.
inline constexpr std::size_t max_shared_bytes = 224 * 1024;

/// The largest functor that a slot holds.
inline constexpr std::size_t max_functor_bytes = 512;

/// A functor as slots and launches carry it.
struct functor_bytes {
  alignas(16) unsigned char bytes[max_functor_bytes] = {};
};

/// What a task may ask of its team. All threads of the team call what is marked "Collective", or none does.
struct team_archetype {
  int rank() const noexcept;
  int size() const noexcept;
  /// Collective: barrier, and memory order among the team.
  void sync() const noexcept;
  /// Collective. If true, return at once and store nothing more; the worker hands the chunk back.
  bool leaving() const noexcept;
  /// Returns shape.shared_bytes of storage, 16-byte aligned, with what the last chunk left there.
  void* shared() const noexcept;
  /// Collective. Returns the sum over ranks, added in a fixed order, to all.
  template <class T>
  T sum(T value) const noexcept;
  /// Collective. Returns `first` combined with the values of the lower ranks, in a fixed order.
  template <class T, class Op>
  T exclusive_scan(T value, T first, Op op) const noexcept;

  // For a task that claims by itself, whose warps do different things and cannot afford to meet: use these instead of
  // leaving().

  /// Returns true when all threads should return soon and rank 0 should hand back unfinished items. Any thread may call
  /// it, one at a time.
  bool stay_ended() const noexcept;
  /// Returns another chunk of the same phase for the same call, or an empty one: return when done. Only rank 0 calls
  /// it.
  chunk more() const noexcept;
  /// Hands back items whose results are not all stored. Only rank 0 calls it, before it returns, at most max_undone
  /// times.
  void hand_back(chunk undone) const noexcept;
};

/// A functor small and plain enough to be copied into a slot.
template <class T>
concept slot_sized = std::is_trivially_copyable_v<T> && sizeof(T) <= max_functor_bytes && alignof(T) <= 16;

/// States `static constexpr team_shape shape`.
template <class T>
concept states_shape = requires {
  { &T::shape } -> std::same_as<team_shape const*>;
};

/// … one that a GPU can run.
template <class T>
concept has_shape = states_shape<T> && requires {
  requires T::shape.threads > 0 && T::shape.threads % 32 == 0 && T::shape.threads <= 1024 && T::shape.steps > 0;
  requires T::shape.blocks_per_sm >= 0 && T::shape.blocks_per_sm* T::shape.threads <= 2048;
  requires T::shape.shared_bytes <= max_shared_bytes;
};

/// `extent(position, fed)`: items of a phase, or `finished`, or `starved`. One thread calls it between two phases. If
/// it returned `starved`, a later bubble calls it again for that phase, so it must store nothing.
template <class T>
concept has_extent = requires(T const& task, position at, std::uint64_t fed) {
  { task.extent(at, fed) } noexcept -> std::same_as<std::uint64_t>;
};

/// `operator()(chunk, team)`: runs the items. All threads of the team call it.
template <class T>
concept has_chunk_call = requires(T const& task, chunk const& c, team_archetype const& team) {
  { task(c, team) } noexcept -> std::same_as<void>;
};

/// `advance(position, team)`, optional: one team alone calls it after each phase, also an empty one, and before the
/// next. It receives the position of the phase that ended. It must take no longer than a chunk. The worker never
/// interrupts or repeats it: inside it, `leaving()` returns false.
template <class T>
concept has_advance = requires(T const& task, position ended, team_archetype const& team) {
  { task.advance(ended, team) } noexcept -> std::same_as<void>;
};

/// The device half of a side task. It promises:
/// - An item's result depends on its index and on earlier phases only.
/// - A chunk's cost is bounded, whatever the data.
/// - Before a chunk's last `team.leaving()` it stores nothing to global memory, unless doing it again changes nothing.
/// - It uses no floating-point atomics.
/// - It never reads data that any phase writes through the non-coherent path.
/// A task that claims by itself may have stored some of an item that it hands back; doing the item again must store the
/// same.
template <class T>
concept side_task = slot_sized<T> && has_shape<T> && has_extent<T> && has_chunk_call<T>;

namespace detail {

/// A member `advance` that does not satisfy has_advance: not const, not noexcept, or with other parameters. A member
/// whose `requires` does not hold does not count.
template <class T>
concept has_another_advance =
    !has_advance<T> && (
                           requires(T& task, position ended, team_archetype const& team) {
                             task.advance(ended, team);
                           } || requires(T& task, team_archetype const& team) { task.advance(team); } ||
                           requires(T& task, position ended) { task.advance(ended); } || requires { &T::advance; } ||
                           requires { &T::template advance<team_archetype>; });

}  // namespace detail

/// Write static_assert(is_side_task<T>()) after each functor. It checks the same as the concept `side_task`, and its
/// message names the missing member with its signature. It also rejects an `advance` that the worker cannot call,
/// because the worker would silently skip it.
template <class T>
constexpr bool is_side_task() {
  static_assert(std::is_trivially_copyable_v<T>,
                "a side task is copied to the GPU byte by byte: it must be trivially copyable");
  static_assert(
      sizeof(T) <= max_functor_bytes && alignof(T) <= 16,
      "a side task has 512 bytes at most, aligned to 16 at most: put the rest into an array and hold a pointer to it");
  static_assert(states_shape<T>,
                "a side task needs static constexpr lull::team_shape shape: threads of a team, phases a round");
  if constexpr (states_shape<T>) {
    static_assert(has_shape<T>,
                  "a side task's shape cannot be run: threads must be a multiple of 32 from 32 to 1024, steps at least "
                  "1, blocks_per_sm at least 0, blocks_per_sm * threads at most 2048, shared_bytes at most 224 KiB");
  }
  static_assert(has_extent<T>,
                "a side task needs std::uint64_t extent(lull::position at, std::uint64_t fed) const noexcept: how many "
                "items the phase has, or lull::finished, or lull::starved");
  static_assert(has_chunk_call<T>,
                "a side task needs void operator()(lull::chunk c, auto const& team) const noexcept: runs the items "
                "from c.begin to c.end of the phase c.at");
  static_assert(!detail::has_another_advance<T>,
                "a side task's advance must be void advance(lull::position ended, auto const& team) const noexcept, or "
                "it is never called");
  return true;  // each concept above has reported its own failure
}

}  // namespace lull
