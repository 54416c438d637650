// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <lull/graph/bfs/bfs_summary.hpp>
#include <lull/graph/bfs/bfs_together.hpp>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/graph_arrays.hpp>
#include <lull/graph/read_in_strips.hpp>
#include <lull/graph/search_total.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/array_table.hpp>
#include <span>
#include <string>
#include <vector>

namespace lull {

/// What breadth-first searches at once work on, on a machine; `Task` is a basic_bfs_together. Movable; must go before
/// the machine does.
template <class Task>
class bfs_together_arrays : public functor_arrays<Task> {
  using functor_arrays<Task>::table_;
  using functor_arrays<Task>::task_;

 public:
  /// `out` holds the edges as loaded and must be valid; its weights are not looked at. `sources`: one for each search,
  /// at least one, each a vertex. `at_once`: searches of a group, 1 to 64. Throws limit_error, with the figures, where
  /// the machine's memory does not suffice or the graph is larger than a queue can be; usage_error for another
  /// `at_once`; std::bad_alloc where the host's memory does not suffice.
  bfs_together_arrays(device_memory& memory, csr const& out, std::span<std::uint32_t const> sources,
                      std::uint32_t at_once)
      : functor_arrays<Task>(memory, sized(out.extent(), sources.size(), at_once)) {
    graph_extent const size = out.extent();
    if (at_once == 0 || at_once > Task::max_at_once)
      throw usage_error("bfs: " + std::to_string(at_once) + " searches at once: there can be 1 to " +
                        std::to_string(Task::max_at_once));
    if (size.vertices > queue_mark::max_vertices || size.edges + size.vertices > queue_mark::max_edges) {
      throw limit_error("bfs: a graph of " + size.text() +
                        " is too large to be searched from several sources at once: it can have " +
                        std::to_string(queue_mark::max_vertices) + " vertices, and " +
                        std::to_string(queue_mark::max_edges) + " vertices and edges");
    }
    detail::fill_arrays("breadth-first search of " + size.text() + " from " + std::to_string(sources.size()) +
                            " sources, " + std::to_string(at_once) + " at once, takes",
                        bytes(size, sources.size()), [&] { add_arrays(table_, task_.on, out, sources); });
  }

  /// Of all arrays together.
  static std::uint64_t bytes(graph_extent size, std::uint64_t searches) {
    return functor_arrays<Task>::bytes_of(sized(size, searches, 1),
                                          [&](array_table& table, Task& task) { add_arrays(table, task.on, {}, {}); });
  }

  bfs_together_progress progress() const { return table_.read(task_.on.progress).front(); }

  bfs_summary summary() const {
    bfs_together_progress const now = progress();
    return {.over = now.phase == bfs_together_phase::end,
            .searches = std::min<std::uint64_t>(now.group * task_.on.graph.at_once, task_.on.graph.searches),
            .pushed = now.pushed,
            .pulled = now.pulled};
  }

  /// Of the searches that are done; `out` is the graph as loaded.
  search_total total(csr const& out) const {
    search_total all;
    for (std::uint64_t group = 0, done = summary().searches; group < done; group += task_.on.graph.at_once) {
      all.add(detail::total_of_words(table_.memory(), labels_of(group), width_of(group), out, bfs_depth_in{}));
    }
    return all;
  }

  static constexpr std::uint64_t read_at_once = 8;  // searches

  /// Calls visit(search, what it found) for each search in order, as long as that returns true. Labels of a group lie
  /// by vertex; so they are read for `read_at_once` searches at a time, which takes 64 bytes a vertex of the host's
  /// memory.
  void each_found(auto const& visit) const {
    for (std::uint64_t search = 0; search < task_.on.graph.searches;) {
      std::uint64_t const group = search - search % task_.on.graph.at_once;
      std::uint64_t const end = std::min(search + read_at_once, group + width_of(group));
      std::vector<std::vector<bfs_found>> const found = read(group, search, end - search);
      for (std::vector<bfs_found> const& one : found) {
        if (!visit(search++, one)) return;
      }
    }
  }

 private:
  std::uint64_t width_of(std::uint64_t group) const noexcept {
    return std::min<std::uint64_t>(task_.on.graph.at_once, task_.on.graph.searches - group);
  }
  std::uint64_t const* labels_of(std::uint64_t group) const noexcept {
    return task_.on.labels + group * task_.on.graph.vertices;
  }

  /// The searches from `first` on, of the group that begins with search `group`.
  std::vector<std::vector<bfs_found>> read(std::uint64_t group, std::uint64_t first, std::uint64_t count) const {
    std::uint64_t const width = width_of(group);
    std::vector<std::vector<bfs_found>> made(count, std::vector<bfs_found>(task_.on.graph.vertices));
    detail::read_in_strips(table_.memory(), labels_of(group), task_.on.graph.vertices, width,
                           [&](std::uint64_t vertex, auto labels) {
                             for (; !labels.empty(); labels = labels.subspan(width), ++vertex) {
                               for (std::uint64_t k = 0; k < count; ++k)
                                 made[k][vertex] = bfs_found_in(labels[first - group + k]);
                             }
                           });
    return made;
  }

  static Task sized(graph_extent size, std::uint64_t searches, std::uint32_t at_once) {
    Task task{};
    task.on.graph = {.edges = size.edges,
                     .vertices = static_cast<std::uint32_t>(size.vertices),
                     .searches = static_cast<std::uint32_t>(searches),
                     .at_once = at_once,
                     .piece = Task::piece};
    return task;
  }

  /// Each array, once. Labels stay when the run is reset: each group of searches begins with its own
  /// (docs/decisions/frontiers-with-their-edges.md).
  static void add_arrays(array_table& table, bfs_together_state& on, csr const& out,
                         std::span<std::uint32_t const> sources) {
    std::uint64_t const vertices = on.graph.vertices;
    std::uint64_t const searches = on.graph.searches;
    detail::add_rows(table, graph_extent{vertices, on.graph.edges}, out, on.out_offsets, on.out_targets);
    detail::add_transposed_rows(table, graph_extent{vertices, on.graph.edges}, out, on.in_offsets, on.in_sources);
    table.input(on.sources, searches, sources);
    table.kept(on.labels, "labels", {searches * vertices});
    table.cleared(on.words, "words", {4, vertices});
    table.cleared(on.queue_vertices, "queue_vertices", {3, vertices});
    table.cleared(on.queue_edges, "queue_edges", {3, vertices});
    table.cleared(on.progress, "progress", {1});
  }
};

}  // namespace lull
