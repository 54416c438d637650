// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/betweenness/betweenness.hpp>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/graph_arrays.hpp>
#include <lull/host/task/array_table.hpp>
#include <span>
#include <string>
#include <vector>

namespace lull {

/// What betweenness centrality works on, on a machine; `Task` is a basic_betweenness. Movable; must go before the
/// machine does.
template <class Task>
class betweenness_arrays : public functor_arrays<Task> {
  using functor_arrays<Task>::table_;
  using functor_arrays<Task>::task_;

 public:
  /// `out` holds the edges as loaded and must be valid; its weights are not looked at. `sources`: at least one, each a
  /// vertex. Throws limit_error, with the figures, where the machine's memory does not suffice or the graph is larger
  /// than a queue can be; std::bad_alloc where that of the host does not suffice.
  betweenness_arrays(device_memory& memory, csr const& out, std::span<std::uint32_t const> sources)
      : functor_arrays<Task>(memory, sized(out.extent(), sources.size())) {
    graph_extent const size = out.extent();
    detail::check_queue("betweenness", size);
    detail::fill_arrays("betweenness of " + size.text() + " from " + std::to_string(sources.size()) + " sources takes",
                        bytes(size, sources.size()), [&] { add_arrays(table_, task_.on, size.edges, out, sources); });
  }

  /// Of all arrays together.
  static std::uint64_t bytes(graph_extent size, std::uint64_t sources) {
    return functor_arrays<Task>::bytes_of(
        sized(size, sources), [&](array_table& table, Task& task) { add_arrays(table, task.on, size.edges, {}, {}); });
  }

  betweenness_progress progress() const { return table_.read(task_.on.progress).front(); }
  /// Of each vertex, added up over the sources.
  std::vector<double> totals() const { return table_.read(task_.on.totals); }

 private:
  /// At least one row of several parts: an array is never empty.
  static Task sized(graph_extent size, std::uint64_t sources) {
    Task task{};
    task.on.graph = {.long_rows = size.edges / (2 * Task::part) + 1,
                     .vertices = static_cast<std::uint32_t>(size.vertices),
                     .sources = static_cast<std::uint32_t>(sources)};
    return task;
  }

  /// Each array, once.
  static void add_arrays(array_table& table, betweenness_state& on, std::uint64_t edges, csr const& out,
                         std::span<std::uint32_t const> sources) {
    std::uint64_t const vertices = on.graph.vertices;
    detail::add_rows(table, graph_extent{vertices, edges}, out, on.out.offsets, on.out.neighbours);
    detail::add_transposed_rows(table, graph_extent{vertices, edges}, out, on.in.offsets, on.in.neighbours);
    table.input(on.sources, on.graph.sources, sources);
    table.cleared(on.totals, "totals", {vertices});
    table.cleared(on.depths, "depths", {vertices});
    table.cleared(on.values, "values", {vertices});
    detail::add_queue(table, on.levels, "level", vertices);
    table.cleared(on.level_begins, "level_begins", {vertices + 1});
    detail::add_queue(table, on.next, "next", vertices);
    detail::add_queue(table, on.long_rows[0], "long_0", on.graph.long_rows);
    detail::add_queue(table, on.long_rows[1], "long_1", on.graph.long_rows);
    table.cleared(on.part_sums[0], "part_sums_0", {edges / Task::part + 1});
    table.cleared(on.part_sums[1], "part_sums_1", {edges / Task::part / Task::part + 1});
    table.cleared(on.progress, "progress", {1});
  }
};

}  // namespace lull
