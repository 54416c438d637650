// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <lull/graph/csr/csr.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/tests/graph/edges_graph.hpp>

namespace lull::test {

/// The vertices from `first` on, each joined to each.
inline test::edges clique(std::uint32_t first, std::uint32_t vertices) {
  test::edges edges;
  for (std::uint32_t a = 0; a < vertices; ++a) {
    for (std::uint32_t b = 0; b < a; ++b)
      edges.push_back({first + (a * 7 % 3 == 0 ? a : b), first + (a * 7 % 3 == 0 ? b : a)});
  }
  return edges;
}

/// A hub in the middle of the numbers, joined to all; `rim`: its leaves are a cycle, so each of them is in two
/// triangles.
inline csr wheel(std::uint32_t leaves, bool rim, std::uint32_t isolated = 0) {
  std::uint32_t const hub = leaves / 2;
  test::edges edges;
  auto const leaf = [&](std::uint32_t i) { return i % leaves < hub ? i % leaves : i % leaves + 1; };
  for (std::uint32_t i = 0; i < leaves; ++i) {
    edges.push_back(i % 2 == 0 ? edge{hub, leaf(i)} : edge{leaf(i), hub});
    if (rim) edges.push_back({leaf(i), leaf(i + 1)});
  }
  return graph_of(leaves + 1 + isolated, edges);
}

/// Edges between two sides, each listed several times, in both directions, and self-loops: no triangle.
inline csr two_sided(std::uint32_t left, std::uint32_t right) {
  test::edges edges;
  for (std::uint32_t a = 0; a < left; ++a) {
    edges.push_back({a, a});
    for (std::uint32_t b = 0; b < right; ++b) {
      for (std::uint32_t again = 0; again <= (a + b) % 3; ++again) edges.push_back({a, left + b});
      edges.push_back({left + b, a});
    }
  }
  return graph_of(left + right, edges);
}

/// Cliques, hubs over them, bridges, duplicates, self-loops and isolated vertices in one graph of 200 vertices.
inline csr medley() {
  test::edges edges = clique(10, 40);
  for (auto const& edge : clique(60, 9)) edges.push_back(edge);
  for (std::uint32_t vertex = 0; vertex < 150; ++vertex) {
    edges.push_back({vertex, 170});
    if (vertex % 3 != 0) edges.push_back({171, vertex});
    edges.push_back({vertex, (vertex * 37 + 5) % 150});
    edges.push_back({(vertex * 11 + 2) % 150, vertex});
    if (vertex % 5 == 0) edges.insert(edges.end(), 3, {vertex, (vertex + 1) % 150});
  }
  edges.push_back({170, 171});
  edges.push_back({171, 170});
  return graph_of(200, edges);
}

struct triangle_graph {
  std::string name;
  csr graph;
};

inline std::vector<triangle_graph> triangle_graphs() {
  test::edges path;
  for (std::uint32_t vertex = 0; vertex < 3000; ++vertex) path.push_back({vertex + 1, vertex});
  csr lopsided = generate_kronecker({.scale = 7});  // each edge in one direction only, or in none
  for (std::size_t edge = 0; edge < lopsided.edges(); edge += 2) lopsided.targets[edge] = 5;
  return {{"one vertex", graph_of(1, {})},
          {"one vertex and its loops", graph_of(1, {{0, 0}, {0, 0}})},
          {"no edges", graph_of(300, {})},
          {"one edge", graph_of(2, {{1, 0}})},
          {"a triangle", graph_of(3, {{0, 1}, {2, 1}, {0, 2}})},
          {"a triangle with duplicates and loops",
           graph_of(4, {{1, 3}, {3, 1}, {3, 3}, {3, 2}, {2, 1}, {2, 1}, {0, 0}, {1, 1}})},
          {"path", graph_of(3001, path)},
          {"star", wheel(3000, false, 5)},
          {"wheel", wheel(3000, true, 5)},
          {"two sides", two_sided(30, 50)},
          {"clique", graph_of(60, clique(0, 60))},
          {"medley", medley()},
          {"lopsided", lopsided},
          {"uniform", generate_uniform({.scale = 7})},
          {"kronecker", generate_kronecker({.scale = 8})}};
}

using neighbour_sets = std::vector<std::set<std::uint32_t>>;

/// The graph, simple and undirected.
inline neighbour_sets neighbours_of(csr const& graph) {
  neighbour_sets made(graph.vertices());
  for (std::uint32_t vertex = 0; vertex < graph.vertices(); ++vertex) {
    for (auto at = graph.offsets[vertex]; at < graph.offsets[vertex + 1ULL]; ++at) {
      std::uint32_t const other = graph.targets[at];
      if (other == vertex) continue;
      made[vertex].insert(other);
      made[other].insert(vertex);
    }
  }
  return made;
}

/// Triangles at each vertex, by definition: pairs of its neighbours that are joined.
inline std::vector<std::uint64_t> triangles_by_definition(csr const& graph) {
  neighbour_sets const neighbours = neighbours_of(graph);
  std::vector<std::uint64_t> counts(graph.vertices());
  for (std::size_t vertex = 0; vertex < counts.size(); ++vertex) {
    for (std::uint32_t const a : neighbours[vertex]) {
      if (neighbours[a].size() <= 1) continue;
      for (std::uint32_t const b : neighbours[a]) {
        if (b > a && neighbours[vertex].contains(b)) ++counts[vertex];
      }
    }
  }
  return counts;
}

}  // namespace lull::test
