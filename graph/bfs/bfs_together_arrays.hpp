// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <lull/graph/bfs/bfs_summary.hpp>
#include <lull/graph/bfs/bfs_together.hpp>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/read_in_strips.hpp>
#include <lull/graph/search_total.hpp>
#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/owner.hpp>
#include <span>
#include <string>
#include <vector>

namespace lull {

/// What breadth-first searches at once work on, on a machine; `Task` is a basic_bfs_together. Movable; must go before
/// the machine does.
template <class Task>
class bfs_together_arrays {
 public:
  /// `out` holds the edges as loaded and must be valid; its weights are not looked at. `sources`: one for each search,
  /// at least one, each a vertex. `at_once`: searches of a group, 1 to 64. Throws limit_error, with the figures, where
  /// the machine's memory does not suffice or the graph is larger than a queue can be; usage_error for another
  /// `at_once`; std::bad_alloc where the host's memory does not suffice.
  bfs_together_arrays(executor& executor, csr const& out, std::span<std::uint32_t const> sources, std::uint32_t at_once)
      : executor_(&executor), vertices_(out.vertices()), edges_(out.edges()), at_once_(at_once) {
    if (at_once == 0 || at_once > Task::max_at_once) {
      throw usage_error("bfs: " + std::to_string(at_once) + " searches at once: there can be 1 to " +
                        std::to_string(Task::max_at_once));
    }
    if (vertices_ > queue_mark::max_vertices || edges_ + vertices_ > queue_mark::max_edges) {
      throw limit_error("bfs: a graph of " + std::to_string(vertices_) + " vertices and " + std::to_string(edges_) +
                        " edges is too large to be searched from several sources at once: it can have " +
                        std::to_string(queue_mark::max_vertices) + " vertices, and " +
                        std::to_string(queue_mark::max_edges) + " vertices and edges");
    }
    try {
      fill(executor, out, sources);
    } catch (limit_error const& reason) {
      throw limit_error("breadth-first search of " + std::to_string(vertices_) + " vertices and " +
                        std::to_string(edges_) + " edges from " + std::to_string(sources.size()) + " sources, " +
                        std::to_string(at_once) + " at once, takes " +
                        std::to_string(bytes(vertices_, edges_, sources.size())) +
                        " bytes of the machine: " + reason.what());
    }
  }

  /// Of all arrays together.
  static std::uint64_t bytes(std::uint64_t vertices, std::uint64_t edges, std::uint64_t searches) noexcept {
    constexpr std::uint64_t of_queues = 3 * (sizeof(std::uint32_t) + sizeof(std::uint64_t));
    constexpr std::uint64_t of_words = 4 * sizeof(std::uint64_t);
    std::uint64_t const graph = (vertices + 1) * sizeof(std::uint64_t) + edges * sizeof(std::uint32_t);
    return 2 * graph + vertices * (of_queues + of_words + searches * sizeof(std::uint64_t)) +
           searches * sizeof(std::uint32_t) + sizeof(bfs_together_progress);
  }

  Task task() const noexcept {
    return {{.out_offsets = out_offsets_.data(),
             .out_targets = out_targets_.data(),
             .in_offsets = in_offsets_.data(),
             .in_sources = in_sources_.data(),
             .sources = sources_.data(),
             .labels = labels_.data(),
             .words = words_.data(),
             .queue_vertices = queue_vertices_.data(),
             .queue_edges = queue_edges_.data(),
             .progress = progress_.data(),
             .graph = {.edges = edges_,
                       .vertices = vertices_,
                       .searches = static_cast<std::uint32_t>(sources_.size()),
                       .at_once = at_once_,
                       .piece = Task::piece}}};
  }

  /// Those that a run writes; the others are made from the graph alone.
  std::vector<task_array> written() const {
    return {array_of("labels", labels_), array_of("words", words_, {4, vertices_}),
            array_of("queue_vertices", queue_vertices_, {3, vertices_}),
            array_of("queue_edges", queue_edges_, {3, vertices_}), array_of("progress", progress_)};
  }

  /// Labels stay: each group of searches begins with its own (docs/decisions/frontiers-with-their-edges.md).
  void reset() {
    words_.fill_zero();
    queue_vertices_.fill_zero();
    queue_edges_.fill_zero();
    progress_.fill_zero();
  }

  bfs_together_progress progress() const { return progress_.read().front(); }

  bfs_summary summary() const {
    bfs_together_progress const now = progress();
    return {.over = now.phase == bfs_together_phase::end,
            .searches = std::min<std::uint64_t>(now.group * at_once_, sources_.size()),
            .pushed = now.pushed,
            .pulled = now.pulled};
  }

  /// Of the searches that are done; `out` is the graph as loaded.
  search_total total(csr const& out) const {
    search_total all;
    for (std::uint64_t group = 0, done = summary().searches; group < done; group += at_once_) {
      all.add(detail::total_of_words(*executor_, labels_of(group), width_of(group), out, bfs_depth_in{}));
    }
    return all;
  }

  static constexpr std::uint64_t read_at_once = 8;  // searches

  /// Calls visit(search, what it found) for each search in order, as long as that returns true. Labels of a group lie
  /// by vertex; so they are read for `read_at_once` searches at a time, which takes 64 bytes a vertex of the host's
  /// memory.
  void each_found(auto const& visit) const {
    for (std::uint64_t search = 0; search < sources_.size();) {
      std::uint64_t const group = search - search % at_once_;
      std::uint64_t const end = std::min(search + read_at_once, group + width_of(group));
      std::vector<std::vector<bfs_found>> const found = read(group, search, end - search);
      for (std::vector<bfs_found> const& one : found) {
        if (!visit(search++, one)) return;
      }
    }
  }

 private:
  std::uint64_t width_of(std::uint64_t group) const noexcept {
    return std::min<std::uint64_t>(at_once_, sources_.size() - group);
  }
  std::uint64_t const* labels_of(std::uint64_t group) const noexcept { return labels_.data() + group * vertices_; }

  /// The searches from `first` on, of the group that begins with search `group`.
  std::vector<std::vector<bfs_found>> read(std::uint64_t group, std::uint64_t first, std::uint64_t count) const {
    std::uint64_t const width = width_of(group);
    std::vector<std::vector<bfs_found>> made(count, std::vector<bfs_found>(vertices_));
    detail::read_in_strips(*executor_, labels_of(group), vertices_, width, [&](std::uint64_t vertex, auto labels) {
      for (; !labels.empty(); labels = labels.subspan(width), ++vertex) {
        for (std::uint64_t k = 0; k < count; ++k) made[k][vertex] = bfs_found_in(labels[first - group + k]);
      }
    });
    return made;
  }

  void fill(executor& executor, csr const& out, std::span<std::uint32_t const> sources) {
    out_offsets_ = {executor, std::span<std::uint64_t const>{out.offsets}};
    out_targets_ = {executor, std::span<std::uint32_t const>{out.targets}};
    {
      csr const in = transpose(out);
      in_offsets_ = {executor, std::span<std::uint64_t const>{in.offsets}};
      in_sources_ = {executor, std::span<std::uint32_t const>{in.targets}};
    }
    sources_ = {executor, sources};
    labels_ = {executor, sources.size() * vertices_};
    words_ = {executor, 4 * std::uint64_t{vertices_}};
    queue_vertices_ = {executor, 3 * std::uint64_t{vertices_}};
    queue_edges_ = {executor, 3 * std::uint64_t{vertices_}};
    progress_ = {executor, 1};
  }

  executor* executor_;
  std::uint32_t vertices_;
  std::uint64_t edges_;
  std::uint32_t at_once_;
  device_array<std::uint64_t> out_offsets_;
  device_array<std::uint32_t> out_targets_;
  device_array<std::uint64_t> in_offsets_;
  device_array<std::uint32_t> in_sources_;
  device_array<std::uint32_t> sources_;
  device_array<std::uint64_t> labels_;
  device_array<std::uint64_t> words_;
  device_array<std::uint32_t> queue_vertices_;
  device_array<std::uint64_t> queue_edges_;
  device_array<bfs_together_progress> progress_;
};

}  // namespace lull
