// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <lull/graph/csr/oriented.hpp>
#include <lull/graph/graph_arrays.hpp>
#include <lull/graph/triangles/triangles.hpp>
#include <lull/graph/triangles/triangles_plan.hpp>
#include <lull/host/task/array_table.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lull {

/// What counting triangles works on, on a machine; `Task` is a basic_triangles. Movable; must go before the machine
/// does.
template <class Task>
class triangles_arrays : public functor_arrays<Task> {
  using functor_arrays<Task>::table_;
  using functor_arrays<Task>::task_;

 public:
  /// `graph` must be valid; directions and weights are not looked at. `trials`: 1 or more. Throws limit_error, with the
  /// figures, where the machine's memory does not suffice or the graph has 2³² undirected edges, std::bad_alloc where
  /// memory of the host does not.
  triangles_arrays(device_memory& memory, csr const& graph, std::uint32_t trials = 1)
      : functor_arrays<Task>(memory, {}) {
    oriented_graph oriented = orient(graph);
    vertex_ = std::move(oriented.vertex);
    edges_ = oriented.rows.edges();
    count_wedges(oriented.rows);
    triangles_plan const plan =
        plan_triangles(oriented.rows, {.lookups = Task::max_lookups, .pairs = Task::max_pairs, .list = Task::max_list});
    graph_extent const size{vertex_.size(), edges_};
    task_ = sized(size, plan.items.size());
    task_.trials = trials;
    detail::fill_arrays("counting triangles of " + size.text("undirected ") + " takes", bytes(size, plan.items.size()),
                        [&] { add_arrays(table_, task_, edges_, plan.searched.edges(), oriented.rows, plan); });
  }

  /// Of all arrays together, at most: an edge without work has no pair.
  static std::uint64_t bytes(graph_extent size, std::uint64_t items) {
    return functor_arrays<Task>::bytes_of(sized(size, items), [&](array_table& table, Task& task) {
      add_arrays(table, task, size.edges, size.edges, {}, {});
    });
  }

  /// How many items such a graph is expected to have. Nothing near the number of edges bounds them: a complete graph of
  /// 10⁴ vertices has three for each edge. Kronecker scale 20 has one for each 52 edges, and each scale a fifth more.
  static std::uint64_t expected_items(std::uint64_t edges) noexcept { return edges / 8 + 1; }

  std::uint64_t total() const { return table_.read(task_.total).front(); }
  /// (vertices,), by the graph's own numbers.
  std::vector<std::uint64_t> counts() const {
    std::vector<std::uint64_t> const by_degree = table_.read(task_.counts);
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

  static Task sized(graph_extent size, std::uint64_t items) {
    Task task{};
    task.vertices = static_cast<std::uint32_t>(size.vertices);
    task.item_count = items;
    return task;
  }

  /// Each array, once.
  static void add_arrays(array_table& table, Task& task, std::uint64_t edges, std::uint64_t pairs, csr const& rows,
                         triangles_plan const& plan) {
    table.input(task.offsets, task.vertices + std::uint64_t{1},
                host_array<std::uint32_t>(rows.offsets.begin(), rows.offsets.end()));
    table.input(task.targets, edges, rows.targets);
    table.input(task.pairs, pairs);
    if (!table.only_counts()) {
      std::size_t written = 0;
      visit_pairs(plan, [&](std::span<triangle_pair const> some) {
        table.write(task.pairs, some, written);
        written += some.size();
      });
    }
    table.input(task.items, task.item_count, plan.items);
    table.cleared(task.counts, "counts", {task.vertices});
    table.cleared(task.total, "total", {1});
  }

  host_array<std::uint32_t> vertex_;  // (vertices,) u32, as in oriented_graph
  std::uint64_t edges_ = 0;
  std::uint64_t wedges_ = 0;
};

}  // namespace lull
