// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <lull/graph/csr/csr.hpp>
#include <lull/graph/csr/edge_list.hpp>

namespace lull::test {

using edges = std::vector<edge>;

/// A graph of these edges, in their order, each once or in both directions (a self-loop twice).
inline csr graph_of(std::uint32_t vertices, edges const& given, mirror mirrored = mirror::none) {
  edge_list list;
  list.blocks.resize(1);
  list.blocks[0].edges.assign(given.begin(), given.end());
  csr made = make_csr(std::move(list), vertices, mirrored, 1);
  validate(made);
  return made;
}

/// Vertices in a row, each joined to the next.
inline edges path_of(std::uint32_t vertices) {
  edges made;
  for (std::uint32_t vertex = 0; vertex + 1 < vertices; ++vertex) made.push_back({vertex, vertex + 1});
  return made;
}

/// The same edges between vertices that are numbered otherwise, in another order.
inline edges shuffled(edges given, std::uint32_t vertices) {
  std::vector<std::uint32_t> id(vertices);
  std::iota(id.begin(), id.end(), 0U);
  std::mt19937 random{5};
  std::shuffle(id.begin(), id.end(), random);
  std::shuffle(given.begin(), given.end(), random);
  for (edge& one : given) one = {id[one.source], id[one.target]};
  return given;
}

/// The vertex `middle` joined to all others, by edges that leave it.
inline edges star_of(std::uint32_t vertices, std::uint32_t middle) {
  edges made;
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    if (vertex != middle) made.push_back({middle, vertex});
  }
  return made;
}

/// The same edges with both ends turned round.
inline edges turned(edges given) {
  for (edge& one : given) std::swap(one.source, one.target);
  return given;
}

/// `side`² vertices in rows, each joined to its neighbours to the right and below.
inline edges grid_of(std::uint32_t side) {
  edges made;
  for (std::uint32_t vertex = 0; vertex < side * side; ++vertex) {
    if (vertex % side + 1 < side) made.push_back({vertex, vertex + 1});
    if (vertex + side < side * side) made.push_back({vertex, vertex + side});
  }
  return made;
}

/// `count` groups of `size` vertices, each vertex joined to all others of its group, whose ids are `count` apart.
inline edges cliques_of(std::uint32_t count, std::uint32_t size) {
  edges made;
  for (std::uint32_t group = 0; group < count; ++group) {
    for (std::uint32_t i = 0; i < size; ++i) {
      for (std::uint32_t k = 0; k < i; ++k) made.push_back({group + i * count, group + k * count});
    }
  }
  return made;
}

/// Both, the ids of the second from `from` on.
inline edges beside(edges first, edges const& second, std::uint32_t from) {
  for (edge const& one : second) first.push_back({one.source + from, one.target + from});
  return first;
}

}  // namespace lull::test
