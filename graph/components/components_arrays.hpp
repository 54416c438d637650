// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lull/graph/components/components.hpp>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/graph_arrays.hpp>
#include <lull/host/task/array_table.hpp>

namespace lull {

/// Whether a graph is known to hold each edge in both directions; then most edges need not be read.
enum class edge_directions { one, both };

/// What connected components work on, on a machine; `Task` is a basic_components. Movable; must go before the machine
/// does.
template <class Task>
class components_arrays : public functor_arrays<Task> {
  using functor_arrays<Task>::table_;
  using functor_arrays<Task>::task_;

 public:
  /// The graph must be valid; its weights are not looked at. If it is said to hold both directions, it must. `trials`:
  /// 1 or more. Throws limit_error, with the figures, where the machine's memory does not suffice.
  components_arrays(device_memory& memory, csr const& graph, edge_directions directions, std::uint32_t trials = 1)
      : functor_arrays<Task>(memory, sized(graph.extent())) {
    task_.symmetric = directions == edge_directions::both ? 1 : 0;
    task_.trials = trials;
    detail::fill_arrays("components of " + graph.extent().text() + " take", bytes(graph.extent()),
                        [&] { add_arrays(table_, task_, graph, rows_of_tiles(graph)); });
  }

  /// Of all arrays together.
  static std::uint64_t bytes(graph_extent size) {
    return functor_arrays<Task>::bytes_of(sized(size),
                                          [&](array_table& table, Task& task) { add_arrays(table, task, {}, {}); });
  }

  /// Of the vertices, when the run is over.
  std::vector<std::uint32_t> labels() const { return table_.read(task_.parent); }
  components_progress progress() const { return table_.read(task_.progress).front(); }

 private:
  static Task sized(graph_extent size) {
    Task task{};
    task.vertices = static_cast<std::uint32_t>(size.vertices);
    task.edges = size.edges;
    return task;
  }

  /// Each array, once.
  static void add_arrays(array_table& table, Task& task, csr const& graph, std::vector<std::uint32_t> const& tile_row) {
    detail::add_rows(table, graph_extent{task.vertices, task.edges}, graph, task.offsets, task.targets);
    table.input(task.tile_row, task.tiles() + 1, tile_row);
    table.cleared(task.parent, "label", {task.vertices});
    table.cleared(task.progress, "progress", {1});
  }

  static std::vector<std::uint32_t> rows_of_tiles(csr const& graph) {
    std::vector<std::uint32_t> rows((graph.edges() + Task::tile - 1) / Task::tile + 1, graph.vertices() - 1);
    std::uint64_t tile = 0;
    for (std::uint32_t vertex = 0; vertex < graph.vertices(); ++vertex) {
      while (tile * Task::tile < graph.offsets[vertex + 1ULL]) rows[tile++] = vertex;
    }
    return rows;
  }
};

}  // namespace lull
