// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lull/graph/bfs/bfs.hpp>
#include <lull/graph/bfs/bfs_summary.hpp>
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

/// What breadth-first searches work on, on a machine; `Task` is a basic_bfs. Movable; must go before the machine does.
template <class Task>
class bfs_arrays {
 public:
  /// `out` holds the edges as loaded and must be valid; its weights are not looked at. `sources`: one for each search,
  /// at least one, each a vertex. Throws limit_error, with the figures, where the machine's memory does not suffice or
  /// the graph is larger than a queue can be; std::bad_alloc where that of the host does not suffice.
  bfs_arrays(executor& executor, csr const& out, std::span<std::uint32_t const> sources)
      : executor_(&executor), vertices_(out.vertices()), edges_(out.edges()) {
    if (vertices_ > queue_mark::max_vertices || edges_ > queue_mark::max_edges) {
      throw limit_error("bfs: a graph of " + std::to_string(vertices_) + " vertices and " + std::to_string(edges_) +
                        " edges is too large: it can have " + std::to_string(queue_mark::max_vertices) +
                        " vertices and " + std::to_string(queue_mark::max_edges) + " edges");
    }
    try {
      fill(executor, out, sources);
    } catch (limit_error const& reason) {
      throw limit_error("breadth-first search of " + std::to_string(vertices_) + " vertices and " +
                        std::to_string(edges_) + " edges from " + std::to_string(sources.size()) + " sources takes " +
                        std::to_string(bytes(vertices_, edges_, sources.size())) +
                        " bytes of the machine: " + reason.what());
    }
  }

  /// Of all arrays together.
  static std::uint64_t bytes(std::uint64_t vertices, std::uint64_t edges, std::uint64_t searches) noexcept {
    constexpr std::uint64_t of_queue = sizeof(std::uint32_t) + sizeof(std::uint64_t);
    std::uint64_t const graph = (vertices + 1) * sizeof(std::uint64_t) + edges * sizeof(std::uint32_t);
    return 2 * graph + vertices * (of_queue + searches * sizeof(std::uint64_t)) +
           4 * vertex_bitmap::words_of(vertices) * sizeof(std::uint32_t) + searches * sizeof(std::uint32_t) +
           sizeof(bfs_progress);
  }

  Task task() const noexcept {
    return {{.out_offsets = out_offsets_.data(),
             .out_targets = out_targets_.data(),
             .in_offsets = in_offsets_.data(),
             .in_sources = in_sources_.data(),
             .entered = {entered_.data()},
             .sources = sources_.data(),
             .labels = labels_.data(),
             .queue = {queue_vertices_.data(), queue_edges_.data()},
             .frontiers = {{frontiers_[0].data()}, {frontiers_[1].data()}},
             .open = {open_.data()},
             .progress = progress_.data(),
             .graph = {.edges = edges_,
                       .vertices = vertices_,
                       .searches = static_cast<std::uint32_t>(sources_.size()),
                       .piece = Task::piece}}};
  }

  /// Those that a run writes; the others are made from the graph alone.
  std::vector<task_array> written() const {
    return {array_of("labels", labels_, {sources_.size(), vertices_}),
            array_of("queue_vertices", queue_vertices_),
            array_of("queue_edges", queue_edges_),
            array_of("frontier_0", frontiers_[0]),
            array_of("frontier_1", frontiers_[1]),
            array_of("open", open_),
            array_of("progress", progress_)};
  }

  /// Labels stay: each search begins with its own (docs/decisions/frontiers-with-their-edges.md).
  void reset() {
    queue_vertices_.fill_zero();
    queue_edges_.fill_zero();
    for (auto& one : frontiers_) one.fill_zero();
    open_.fill_zero();
    progress_.fill_zero();
  }

  bfs_progress progress() const { return progress_.read().front(); }

  bfs_summary summary() const {
    bfs_progress const now = progress();
    return {.over = now.phase == bfs_phase::end, .searches = now.search, .pushed = now.pushed, .pulled = now.pulled};
  }

  /// Of the searches that are done; `out` is the graph as loaded.
  search_total total(csr const& out) const {
    search_total all;
    for (std::uint64_t search = 0, done = summary().searches; search < done; ++search) {
      all.add(detail::total_of_words(*executor_, labels_of(search), 1, out, bfs_depth_in{}));
    }
    return all;
  }

  /// Of one search.
  std::vector<bfs_found> found(std::uint64_t search) const {
    std::vector<bfs_found> made(vertices_);
    detail::read_in_strips(*executor_, labels_of(search), vertices_, 1, [&](std::uint64_t first, auto const labels) {
      std::transform(labels.begin(), labels.end(), made.begin() + static_cast<std::ptrdiff_t>(first), bfs_found_in);
    });
    return made;
  }

  /// Calls visit(search, what it found) for each search in order, as long as that returns true.
  void each_found(auto const& visit) const {
    for (std::uint64_t search = 0; search < sources_.size(); ++search) {
      if (!visit(search, found(search))) return;
    }
  }

 private:
  std::uint64_t const* labels_of(std::uint64_t search) const noexcept { return labels_.data() + search * vertices_; }

  void fill(executor& executor, csr const& out, std::span<std::uint32_t const> sources) {
    out_offsets_ = {executor, std::span<std::uint64_t const>{out.offsets}};
    out_targets_ = {executor, std::span<std::uint32_t const>{out.targets}};
    {
      csr const in = transpose(out);
      in_offsets_ = {executor, std::span<std::uint64_t const>{in.offsets}};
      in_sources_ = {executor, std::span<std::uint32_t const>{in.targets}};
    }
    std::vector<std::uint32_t> entered(vertex_bitmap::words_of(vertices_));
    for (std::uint32_t const target : out.targets) entered[target / 32] |= 1U << (target % 32);
    entered_ = {executor, std::span<std::uint32_t const>{entered}};
    sources_ = {executor, sources};
    labels_ = {executor, sources.size() * vertices_};
    queue_vertices_ = {executor, vertices_};
    queue_edges_ = {executor, vertices_};
    for (auto& one : frontiers_) one = {executor, entered.size()};
    open_ = {executor, entered.size()};
    progress_ = {executor, 1};
  }

  executor* executor_;
  std::uint32_t vertices_;
  std::uint64_t edges_;
  device_array<std::uint64_t> out_offsets_;
  device_array<std::uint32_t> out_targets_;
  device_array<std::uint64_t> in_offsets_;
  device_array<std::uint32_t> in_sources_;
  device_array<std::uint32_t> entered_;
  device_array<std::uint32_t> sources_;
  device_array<std::uint64_t> labels_;
  device_array<std::uint32_t> queue_vertices_;
  device_array<std::uint64_t> queue_edges_;
  device_array<std::uint32_t> frontiers_[2];
  device_array<std::uint32_t> open_;
  device_array<bfs_progress> progress_;
};

}  // namespace lull
