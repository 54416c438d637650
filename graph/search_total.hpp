// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/read_in_strips.hpp>
#include <lull/host/executor.hpp>
#include <mutex>
#include <span>

namespace lull {

/// What the searches of a job come to, all together.
struct search_total {
  std::uint64_t reached = 0;   // vertices
  std::uint64_t edges = 0;     // that leave the reached
  std::uint64_t farthest = 0;  // greatest depth, or distance

  void add(search_total const& other) noexcept {
    reached += other.reached;
    edges += other.edges;
    farthest = std::max(farthest, other.farthest);
  }
};

namespace detail {

/// Adds up what searches found; `from`: (vertices of `out`, width) words in the machine's memory. far(word), which
/// several threads call at once, is how far the vertex is; a word of ones alone: it was not reached. Masks instead of
/// branches, which no processor could foresee. Throws what read_in_strips throws.
template <class T>
search_total total_of_words(device_memory& memory, T const* from, std::uint64_t width, csr const& out,
                            auto const& far) {
  std::mutex lock;
  search_total all;
  read_in_strips(memory, from, out.vertices(), width, [&](std::uint64_t vertex, std::span<T const> words) {
    search_total here;
    for (std::size_t at = 0; at < words.size(); ++vertex) {
      std::uint64_t const edges = out.offsets[vertex + 1] - out.offsets[vertex];
      for (std::size_t const end = at + width; at < end; ++at) {
        std::uint64_t const reached = words[at] != static_cast<T>(~T{0}) ? 1 : 0;
        std::uint64_t const mask = 0 - reached;
        here.add({reached, edges & mask, far(words[at]) & mask});
      }
    }
    std::scoped_lock const guard{lock};
    all.add(here);
  });
  return all;
}

}  // namespace detail

}  // namespace lull
