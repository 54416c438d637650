// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/oriented.hpp>
#include <lull/graph/csr/symmetric.hpp>
#include <lull/graph/kcore/kcore.hpp>
#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/owner.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lull {

/// What a core decomposition works on, on a machine; `Task` is a basic_kcore. Movable; must go before the machine does.
/// The graph is made simple, and its vertices numbered by falling degree, as for triangles: hubs lie side by side.
template <class Task>
class kcore_arrays {
 public:
  /// `graph` must be valid; directions, duplicates, self-loops and weights are not looked at. Throws limit_error, with
  /// the figures, where the machine's memory does not suffice or the graph is larger than a queue can be;
  /// std::bad_alloc where that of the host does not suffice.
  kcore_arrays(executor& executor, csr const& graph) {
    oriented_graph oriented = orient(graph);
    vertex_ = std::move(oriented.vertex);
    edges_ = 2 * oriented.rows.edges();
    if (vertices() > queue_mark::max_vertices || edges_ > queue_mark::max_edges) {
      throw limit_error("kcore: a graph of " + std::to_string(vertices()) + " vertices and " +
                        std::to_string(edges_ / 2) + " undirected edges is too large: it can have " +
                        std::to_string(queue_mark::max_vertices) + " vertices and " +
                        std::to_string(queue_mark::max_edges / 2) + " edges");
    }
    try {
      fill(executor, symmetrised(std::move(oriented.rows)));
    } catch (limit_error const& reason) {
      throw limit_error("core numbers of " + std::to_string(vertices()) + " vertices and " +
                        std::to_string(edges_ / 2) + " undirected edges take " +
                        std::to_string(bytes(vertices(), edges_)) + " bytes of the machine: " + reason.what());
    }
  }

  /// Of all arrays together; `edges` in both directions.
  static std::uint64_t bytes(std::uint64_t vertices, std::uint64_t edges) noexcept {
    std::uint64_t const lists = kcore_state::list_places(vertices, 0) + kcore_state::list_places(vertices, 1);
    constexpr std::uint64_t of_queue = sizeof(std::uint32_t) + sizeof(std::uint64_t);
    return (vertices + 1) * sizeof(std::uint64_t) + (edges + lists) * sizeof(std::uint32_t) +
           vertices * (sizeof(std::int32_t) + of_queue) + sizeof(kcore_progress);
  }

  Task task() const noexcept {
    return {{.offsets = offsets_.data(),
             .targets = targets_.data(),
             .core = core_.data(),
             .queue = {queue_vertices_.data(), queue_edges_.data()},
             .lists = {lists_[0].data(), lists_[1].data()},
             .progress = progress_.data(),
             .graph = {.vertices = vertices(), .piece = Task::piece, .scanned = Task::scanned}}};
  }

  /// Those that a run writes; the others are made from the graph alone.
  std::vector<task_array> written() const {
    return {array_of("core", core_),
            array_of("queue_vertices", queue_vertices_),
            array_of("queue_edges", queue_edges_),
            array_of("list_0", lists_[0]),
            array_of("list_1", lists_[1]),
            array_of("progress", progress_)};
  }

  void reset() {
    core_.fill_zero();
    queue_vertices_.fill_zero();
    queue_edges_.fill_zero();
    for (auto& one : lists_) one.fill_zero();
    progress_.fill_zero();
  }

  kcore_progress progress() const { return progress_.read().front(); }
  /// (vertices,), by the graph's own numbers, when the run has ended.
  std::vector<std::uint32_t> cores() const {
    std::vector<std::int32_t> const by_degree = core_.read();
    std::vector<std::uint32_t> made(by_degree.size());
    for (std::size_t at = 0; at < made.size(); ++at) made[vertex_[at]] = static_cast<std::uint32_t>(by_degree[at]);
    return made;
  }

  std::uint32_t vertices() const noexcept { return static_cast<std::uint32_t>(vertex_.size()); }
  /// Without duplicates and self-loops.
  std::uint64_t undirected_edges() const noexcept { return edges_ / 2; }

 private:
  void fill(executor& executor, csr const& graph) {
    offsets_ = {executor, std::span<std::uint64_t const>{graph.offsets}};
    targets_ = {executor, std::span<std::uint32_t const>{graph.targets}};
    core_ = {executor, vertices()};
    queue_vertices_ = {executor, vertices()};
    queue_edges_ = {executor, vertices()};
    for (int list = 0; list < 2; ++list) lists_[list] = {executor, kcore_state::list_places(vertices(), list)};
    progress_ = {executor, 1};
  }

  host_array<std::uint32_t> vertex_;  // (vertices,) u32, as in oriented_graph
  std::uint64_t edges_ = 0;           // in both directions
  device_array<std::uint64_t> offsets_;
  device_array<std::uint32_t> targets_;
  device_array<std::int32_t> core_;
  device_array<std::uint32_t> queue_vertices_;
  device_array<std::uint64_t> queue_edges_;
  device_array<std::uint32_t> lists_[2];
  device_array<kcore_progress> progress_;
};

}  // namespace lull
