// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/load/generate.hpp>
#include <string>
#include <vector>

namespace lull::test {

/// Of each vertex the targets of its edges.
using vertex_rows = std::vector<std::vector<std::uint32_t>>;

struct named_graph {
  std::string name;
  csr graph;
};

inline csr from_rows(vertex_rows const& rows) {
  csr made;
  made.offsets.push_back(0);
  for (auto const& row : rows) {
    made.targets.insert(made.targets.end(), row.begin(), row.end());
    made.offsets.push_back(made.targets.size());
  }
  validate(made);
  return made;
}

inline vertex_rows path(std::uint32_t vertices) {
  vertex_rows rows(vertices);
  for (std::uint32_t vertex = 0; vertex + 1 < vertices; ++vertex) rows[vertex] = {vertex + 1};
  return rows;
}

inline vertex_rows grid(std::uint32_t side) {
  vertex_rows rows(side * side);
  auto const join = [&](std::uint32_t a, std::uint32_t b) {
    rows[a].push_back(b);
    rows[b].push_back(a);
  };
  for (std::uint32_t vertex = 0; vertex < side * side; ++vertex) {
    if (vertex % side + 1 < side) join(vertex, vertex + 1);
    if (vertex + side < side * side) join(vertex, vertex + side);
  }
  return rows;
}

/// The middle leads to all others, and these lead back.
inline vertex_rows star(std::uint32_t leaves) {
  vertex_rows rows(leaves + 1, {leaves / 2});
  rows[leaves / 2].clear();
  for (std::uint32_t leaf = 0; leaf <= leaves; ++leaf) {
    if (leaf != leaves / 2) rows[leaves / 2].push_back(leaves - leaf);  // not in order
  }
  return rows;
}

/// Layers of vertices, each of which has edges from some of the layer before, a few of them twice, and from itself.
inline vertex_rows layers(std::vector<std::uint32_t> const& widths) {
  vertex_rows rows;
  std::uint32_t before = 0;
  std::uint64_t state = 7;
  for (std::uint32_t const width : widths) {
    auto const first = static_cast<std::uint32_t>(rows.size());
    for (std::uint32_t i = 0; i < width; ++i) {
      std::uint32_t const vertex = first + i;
      rows.push_back({vertex});
      for (std::uint32_t edge = 0; edge < (before == 0 ? 0 : 1 + i % 9); ++edge) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        rows[first - before + (state >> 33) % before].push_back(vertex);
        if (edge == 3) rows[first - before + (state >> 33) % before].push_back(vertex);
      }
    }
    before = width;
  }
  return rows;
}

/// Larger ones are `times` as large.
inline std::vector<named_graph> graphs(std::uint32_t times) {
  vertex_rows loops(100);
  for (std::uint32_t vertex = 0; vertex < 100; ++vertex) loops[vertex].assign(vertex % 7, vertex - vertex % 3);
  vertex_rows cycle = path(200);
  cycle.back() = {0};
  vertex_rows parts = path(50);
  for (auto const& row : path(40)) {
    parts.push_back(row);
    for (auto& target : parts.back()) target += 50;
  }
  vertex_rows into_hub(300 * times, {0});  // all reach one at once, whose edges enter from everywhere
  into_hub[5].resize(300 * times);
  for (std::uint32_t vertex = 0; vertex < 300 * times; ++vertex) into_hub[5][vertex] = vertex / 3 * 2 + 1;
  return {{"one vertex", from_rows({{}})},
          {"one loop", from_rows({{0}})},
          {"no edges", from_rows(vertex_rows(300))},
          {"self-loops and duplicates", from_rows(loops)},
          {"cycle", from_rows(cycle)},
          {"two parts", from_rows(parts)},
          {"path", from_rows(path(100 * times))},
          {"star", from_rows(star(200 * times))},
          {"into a hub", from_rows(into_hub)},
          {"grid", from_rows(grid(5 * times))},
          {"layers", from_rows(layers({1, 3, 40, 200, 30 * times, 5, 90, 1, 70}))},
          {"kronecker", generate_kronecker({.scale = times > 1 ? 10U : 6U})},
          {"uniform", generate_uniform({.scale = times > 1 ? 9U : 5U})}};
}

}  // namespace lull::test
