// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/bfs/bfs_state.hpp>
#include <lull/graph/bfs/verify_bfs.hpp>

namespace lull {

/// Where breadth-first searches stand, whether they run one after the other or several at once.
struct bfs_summary {
  bool over = false;
  std::uint64_t searches = 0;  // that are done
  std::uint64_t pushed = 0;    // levels, of all searches; where several run at once, of all of those together
  std::uint64_t pulled = 0;
};

/// What a search's label says of its vertex.
inline bfs_found bfs_found_in(std::uint64_t label) noexcept {
  if (label == bfs_label::unreached) return {};
  return {static_cast<std::uint32_t>(bfs_label::depth(label)), bfs_label::parent(label)};
}

/// How far a vertex that was reached is, by its label.
struct bfs_depth_in {
  std::uint64_t operator()(std::uint64_t label) const noexcept { return bfs_label::depth(label); }
};

}  // namespace lull
