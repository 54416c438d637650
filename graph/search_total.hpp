// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <lull/graph/csr.hpp>
#include <lull/graph/read_in_strips.hpp>
#include <mutex>
#include <optional>
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

/// Adds up what searches found, `width` words for each vertex of `out` in the machine's memory: far(word) is how far
/// the vertex is; none: it was not reached.
template <class T>
search_total total_of_words(executor& machine, T const* from, std::uint64_t width, csr const& out, auto const& far) {
  std::mutex lock;
  search_total all;
  read_in_strips(machine, from, out.vertices(), width, [&](std::uint64_t vertex, std::span<T const> words) {
    search_total here;
    for (; !words.empty(); words = words.subspan(width), ++vertex) {
      std::uint64_t const edges = out.offsets[vertex + 1] - out.offsets[vertex];
      for (T const word : words.first(width)) {
        if (std::optional<std::uint64_t> const found = far(word)) here.add({1, edges, *found});
      }
    }
    std::scoped_lock const guard{lock};
    all.add(here);
  });
  return all;
}

}  // namespace detail

}  // namespace lull
