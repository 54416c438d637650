// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <lull/graph/csr/oriented.hpp>
#include <lull/graph/triangles/triangles.hpp>
#include <lull/graph/triangles/triangles_plan.hpp>
#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/owner.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lull {

/// What counting triangles works on, on a machine; `Task` is a basic_triangles. Movable; must go before the machine
/// does.
template <class Task>
class triangles_arrays {
 public:
  /// `graph` must be valid; directions and weights are not looked at. `trials`: 1 or more. Throws limit_error, with the
  /// figures, where the machine's memory does not suffice or the graph has 2³² undirected edges, std::bad_alloc where
  /// memory of the host does not.
  triangles_arrays(executor& executor, csr const& graph, std::uint32_t trials = 1) : trials_(trials) {
    oriented_graph oriented = orient(graph);
    vertex_ = std::move(oriented.vertex);
    edges_ = oriented.rows.edges();
    count_wedges(oriented.rows);
    triangles_plan const plan =
        plan_triangles(oriented.rows, {.lookups = Task::max_lookups, .pairs = Task::max_pairs, .list = Task::max_list});
    item_count_ = plan.items.size();
    try {
      fill(executor, oriented.rows, plan);
    } catch (limit_error const& reason) {
      throw limit_error("counting triangles of " + std::to_string(vertex_.size()) + " vertices and " +
                        std::to_string(edges_) + " undirected edges takes " +
                        std::to_string(bytes(vertex_.size(), edges_, item_count_)) +
                        " bytes of the machine: " + reason.what());
    }
  }

  /// Of all arrays together, at most: an edge without work has no pair.
  static std::uint64_t bytes(std::uint64_t vertices, std::uint64_t edges, std::uint64_t items) noexcept {
    return (vertices + 1) * sizeof(std::uint32_t) + edges * (sizeof(std::uint32_t) + sizeof(triangle_pair)) +
           items * sizeof(triangle_item) + (vertices + 1) * sizeof(std::uint64_t);
  }

  /// How many items such a graph is expected to have. Nothing near the number of edges bounds them: a complete graph of
  /// 10⁴ vertices has three for each edge. Kronecker scale 20 has one for each 52 edges, and each scale a fifth more.
  static std::uint64_t expected_items(std::uint64_t edges) noexcept { return edges / 8 + 1; }

  Task task() const noexcept {
    return {.offsets = offsets_.data(),
            .targets = targets_.data(),
            .pairs = pairs_.data(),
            .items = items_.data(),
            .counts = counts_.data(),
            .total = total_.data(),
            .item_count = item_count_,
            .vertices = static_cast<std::uint32_t>(vertex_.size()),
            .trials = trials_};
  }

  /// Those that a run writes; the others are made from the graph alone.
  std::vector<task_array> written() const { return {array_of("counts", counts_), array_of("total", total_)}; }

  void reset() {
    counts_.fill_zero();
    total_.fill_zero();
  }

  std::uint64_t total() const { return total_.read().front(); }
  /// (vertices,), by the graph's own numbers.
  std::vector<std::uint64_t> counts() const {
    std::vector<std::uint64_t> const by_degree = counts_.read();
    std::vector<std::uint64_t> made(by_degree.size());
    for (std::size_t at = 0; at < made.size(); ++at) made[vertex_[at]] = by_degree[at];
    return made;
  }

  /// Undirected edges: without duplicates and self-loops.
  std::uint64_t edges() const noexcept { return edges_; }
  /// Pairs of edges that share a vertex: a vertex with d edges has d (d - 1) / 2.
  std::uint64_t wedges() const noexcept { return wedges_; }

 private:
  void count_wedges(csr const& rows) {
    std::vector<std::uint32_t> entering(rows.vertices());
    for (std::uint32_t const target : rows.targets) ++entering[target];
    for (std::size_t row = 0; row < entering.size(); ++row) {
      std::uint64_t const degree = entering[row] + rows.offsets[row + 1] - rows.offsets[row];
      wedges_ += degree * (std::max<std::uint64_t>(degree, 1) - 1) / 2;
    }
  }

  void fill(executor& executor, csr const& rows, triangles_plan const& plan) {
    {
      host_array<std::uint32_t> const offsets(rows.offsets.begin(), rows.offsets.end());
      offsets_ = {executor, std::span<std::uint32_t const>{offsets}};
    }
    targets_ = {executor, std::span<std::uint32_t const>{rows.targets}};
    pairs_ = {executor, plan.searched.edges()};
    std::size_t written = 0;
    visit_pairs(plan, [&](std::span<triangle_pair const> some) {
      pairs_.write(some, written);
      written += some.size();
    });
    items_ = {executor, std::span<triangle_item const>{plan.items}};
    counts_ = {executor, vertex_.size()};
    total_ = {executor, 1};
  }

  host_array<std::uint32_t> vertex_;  // (vertices,) u32, as in oriented_graph
  std::uint64_t edges_ = 0;
  std::uint64_t wedges_ = 0;
  std::uint64_t item_count_ = 0;
  std::uint32_t trials_;
  device_array<std::uint32_t> offsets_;
  device_array<std::uint32_t> targets_;
  device_array<triangle_pair> pairs_;
  device_array<triangle_item> items_;
  device_array<std::uint64_t> counts_;
  device_array<std::uint64_t> total_;
};

}  // namespace lull
