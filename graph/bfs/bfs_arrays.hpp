// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lull/graph/bfs/bfs.hpp>
#include <lull/graph/bfs/bfs_summary.hpp>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/graph_arrays.hpp>
#include <lull/graph/read_in_strips.hpp>
#include <lull/graph/search_total.hpp>
#include <lull/host/task/array_table.hpp>
#include <span>
#include <string>
#include <vector>

namespace lull {

/// What breadth-first searches work on, on a machine; `Task` is a basic_bfs. Movable; must go before the machine does.
template <class Task>
class bfs_arrays : public functor_arrays<Task> {
  using functor_arrays<Task>::table_;
  using functor_arrays<Task>::task_;

 public:
  /// `out` holds the edges as loaded and must be valid; its weights are not looked at. `sources`: one for each search,
  /// at least one, each a vertex. Throws limit_error, with the figures, where the machine's memory does not suffice or
  /// the graph is larger than a queue can be; std::bad_alloc where that of the host does not suffice.
  bfs_arrays(device_memory& memory, csr const& out, std::span<std::uint32_t const> sources)
      : functor_arrays<Task>(memory, sized(out.extent(), sources.size())) {
    detail::check_queue("bfs", out.extent());
    detail::fill_arrays(
        "breadth-first search of " + out.extent().text() + " from " + std::to_string(sources.size()) + " sources takes",
        bytes(out.extent(), sources.size()), [&] { add_arrays(table_, task_.on, out, sources); });
  }

  /// Of all arrays together.
  static std::uint64_t bytes(graph_extent size, std::uint64_t searches) {
    return functor_arrays<Task>::bytes_of(sized(size, searches),
                                          [&](array_table& table, Task& task) { add_arrays(table, task.on, {}, {}); });
  }

  bfs_progress progress() const { return table_.read(task_.on.progress).front(); }

  bfs_summary summary() const {
    bfs_progress const now = progress();
    return {.over = now.phase == bfs_phase::end, .searches = now.search, .pushed = now.pushed, .pulled = now.pulled};
  }

  /// Of the searches that are done; `out` is the graph as loaded.
  search_total total(csr const& out) const {
    search_total all;
    for (std::uint64_t search = 0, done = summary().searches; search < done; ++search) {
      all.add(detail::total_of_words(table_.memory(), labels_of(search), 1, out, bfs_depth_in{}));
    }
    return all;
  }

  /// Of one search.
  std::vector<bfs_found> found(std::uint64_t search) const {
    std::vector<bfs_found> made(task_.on.graph.vertices);
    detail::read_in_strips(
        table_.memory(), labels_of(search), task_.on.graph.vertices, 1, [&](std::uint64_t first, auto const labels) {
          std::transform(labels.begin(), labels.end(), made.begin() + static_cast<std::ptrdiff_t>(first), bfs_found_in);
        });
    return made;
  }

  /// Calls visit(search, what it found) for each search in order, as long as that returns true.
  void each_found(auto const& visit) const {
    for (std::uint64_t search = 0; search < task_.on.graph.searches; ++search) {
      if (!visit(search, found(search))) return;
    }
  }

 private:
  std::uint64_t const* labels_of(std::uint64_t search) const noexcept {
    return task_.on.labels + search * task_.on.graph.vertices;
  }

  static Task sized(graph_extent size, std::uint64_t searches) {
    Task task{};
    task.on.graph = {.edges = size.edges,
                     .vertices = static_cast<std::uint32_t>(size.vertices),
                     .searches = static_cast<std::uint32_t>(searches),
                     .piece = Task::piece};
    return task;
  }

  /// Each array, once. Labels stay when the run is reset: each search begins with its own
  /// (docs/decisions/frontiers-with-their-edges.md).
  static void add_arrays(array_table& table, bfs_state& on, csr const& out, std::span<std::uint32_t const> sources) {
    auto const [edges, vertices, searches, piece] = on.graph;
    detail::add_rows(table, graph_extent{vertices, edges}, out, on.out_offsets, on.out_targets);
    detail::add_transposed_rows(table, graph_extent{vertices, edges}, out, on.in_offsets, on.in_sources);
    std::uint64_t const words = vertex_bitmap::words_of(vertices);
    table.input(on.entered.words, words, entered_vertices(out));
    table.input(on.sources, searches, sources);
    table.kept(on.labels, "labels", {searches, vertices});
    detail::add_queue(table, on.queue, "queue", vertices);
    table.cleared(on.frontiers[0].words, "frontier_0", {words});
    table.cleared(on.frontiers[1].words, "frontier_1", {words});
    table.cleared(on.open.words, "open", {words});
    table.cleared(on.progress, "progress", {1});
  }

  static std::vector<std::uint32_t> entered_vertices(csr const& out) {
    std::vector<std::uint32_t> words(vertex_bitmap::words_of(out.vertices()));
    for (std::uint32_t const target : out.targets) words[target / 32] |= 1U << (target % 32);
    return words;
  }
};

}  // namespace lull
