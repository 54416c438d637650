// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/oriented.hpp>
#include <lull/graph/csr/symmetric.hpp>
#include <lull/graph/graph_arrays.hpp>
#include <lull/graph/kcore/kcore.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/array_table.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lull {

/// What a core decomposition works on, on a machine; `Task` is a basic_kcore. Movable; must go before the machine does.
/// The graph is made simple, and its vertices numbered by falling degree, as for triangles: hubs lie side by side.
template <class Task>
class kcore_arrays : public functor_arrays<Task> {
  using functor_arrays<Task>::table_;
  using functor_arrays<Task>::task_;

 public:
  /// `graph` must be valid; directions, duplicates, self-loops and weights are not looked at. Throws limit_error, with
  /// the figures, where the machine's memory does not suffice or the graph is larger than a queue can be;
  /// std::bad_alloc where that of the host does not suffice.
  kcore_arrays(device_memory& memory, csr const& graph) : kcore_arrays(memory, orient(graph)) {}

  /// Of all arrays together; `size` with its edges in both directions.
  static std::uint64_t bytes(graph_extent size) {
    return functor_arrays<Task>::bytes_of(
        sized(size), [&](array_table& table, Task& task) { add_arrays(table, task.on, size.edges, {}); });
  }

  kcore_progress progress() const { return table_.read(task_.on.progress).front(); }
  /// (vertices,), by the graph's own numbers, when the run has ended.
  std::vector<std::uint32_t> cores() const {
    std::vector<std::int32_t> const by_degree = table_.read(task_.on.core);
    std::vector<std::uint32_t> made(by_degree.size());
    for (std::size_t at = 0; at < made.size(); ++at) made[vertex_[at]] = static_cast<std::uint32_t>(by_degree[at]);
    return made;
  }

  /// Without duplicates and self-loops.
  std::uint64_t undirected_edges() const noexcept { return undirected_edges_; }

 private:
  kcore_arrays(device_memory& memory, oriented_graph oriented)
      : functor_arrays<Task>(memory, sized(oriented.rows.extent())),
        vertex_(std::move(oriented.vertex)),
        undirected_edges_(oriented.rows.edges()) {
    graph_extent const size{vertex_.size(), 2 * undirected_edges_};
    if (size.vertices > queue_mark::max_vertices || size.edges > queue_mark::max_edges) {
      throw limit_error("kcore: a graph of " + undirected(size) + " is too large: it can have " +
                        graph_extent{queue_mark::max_vertices, queue_mark::max_edges / 2}.text());
    }
    detail::fill_arrays("core numbers of " + undirected(size) + " take", bytes(size),
                        [&] { add_arrays(table_, task_.on, size.edges, symmetrised(std::move(oriented.rows))); });
  }

  static std::string undirected(graph_extent size) {
    return graph_extent{size.vertices, size.edges / 2}.text("undirected ");
  }

  static Task sized(graph_extent size) {
    Task task{};
    task.on.graph = {
        .vertices = static_cast<std::uint32_t>(size.vertices), .piece = Task::piece, .scanned = Task::scanned};
    return task;
  }

  /// Each array, once.
  static void add_arrays(array_table& table, kcore_state& on, std::uint64_t edges, csr const& graph) {
    std::uint64_t const vertices = on.graph.vertices;
    detail::add_rows(table, graph_extent{vertices, edges}, graph, on.offsets, on.targets);
    table.cleared(on.core, "core", {vertices});
    detail::add_queue(table, on.queue, "queue", vertices);
    table.cleared(on.lists[0], "list_0", {kcore_state::list_places(vertices, 0)});
    table.cleared(on.lists[1], "list_1", {kcore_state::list_places(vertices, 1)});
    table.cleared(on.progress, "progress", {1});
  }

  host_array<std::uint32_t> vertex_;  // (vertices,) u32, as in oriented_graph
  std::uint64_t undirected_edges_;
};

}  // namespace lull
