// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/device/side_task.hpp>

namespace lull {

/// A set of vertices, a bit each. The words of several phases' items must be whole: an item that stores words has a
/// multiple of 32 vertices.
struct vertex_bitmap {
  std::uint32_t* words;  // (⌈vertices / 32⌉,)

  LULL_HD static constexpr std::uint64_t words_of(std::uint64_t vertices) noexcept { return (vertices + 31) / 32; }

  LULL_HD bool has(std::uint32_t vertex) const noexcept { return (words[vertex / 32] >> (vertex % 32) & 1) != 0; }
  /// Of up to 31 vertices in a row, which lie in one word.
  LULL_HD std::uint32_t bits(std::uint64_t vertex, std::uint32_t count) const noexcept {
    return words[vertex / 32] >> (vertex % 32) & ((std::uint32_t{1} << count) - 1);
  }

  /// Of a vertex that is not in the set, or is in it, and that one thread of all alone adds or removes in this phase;
  /// others change other bits of its word.
  LULL_HD void add(std::uint32_t vertex) const noexcept {
    atomic_integer{words[vertex / 32]}.fetch_add(std::uint32_t{1} << (vertex % 32));
  }
  LULL_HD void remove(std::uint32_t vertex) const noexcept {
    atomic_integer{words[vertex / 32]}.fetch_add(~(std::uint32_t{1} << (vertex % 32)) + 1);
  }
};

/// Four vertices in a row: what a thread looks at, so that no bits have to be collected from other threads but by bytes
/// of team storage.
inline constexpr std::uint32_t quad = 4;
inline constexpr std::uint32_t quads_of_word = 32 / quad;

/// The bits of the word's quads, of which `of(i)` gives those of one.
LULL_HD constexpr std::uint32_t join_quads(auto const& of) noexcept {
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < quads_of_word; ++i) word |= (std::uint32_t{of(i)} & 0xf) << (i * quad);
  return word;
}

}  // namespace lull
