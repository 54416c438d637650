// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lull/graph/components/components.hpp>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// Whether a graph is known to hold each edge in both directions; then most edges need not be read.
enum class edge_directions { one, both };

/// What connected components work on, on a machine; `Task` is a basic_components. Movable; must go before the machine
/// does.
template <class Task>
class components_arrays {
 public:
  /// The graph must be valid; its weights are not looked at. If it is said to hold both directions, it must. `trials`:
  /// 1 or more. Throws limit_error, with the figures, where the machine's memory does not suffice.
  components_arrays(executor& executor, csr const& graph, edge_directions directions, std::uint32_t trials = 1)
      : vertices_(graph.vertices()),
        edges_(graph.edges()),
        symmetric_(directions == edge_directions::both ? 1 : 0),
        trials_(trials) {
    try {
      offsets_ = {executor, std::span<std::uint64_t const>{graph.offsets}};
      targets_ = {executor, std::span<std::uint32_t const>{graph.targets}};
      std::vector<std::uint32_t> const tile_row = rows_of_tiles(graph);
      tile_row_ = {executor, std::span<std::uint32_t const>{tile_row}};
      parent_ = {executor, vertices_};
      progress_ = {executor, 1};
    } catch (limit_error const& reason) {
      throw limit_error("components of " + std::to_string(vertices_) + " vertices and " + std::to_string(edges_) +
                        " edges take " + std::to_string(bytes(vertices_, edges_)) +
                        " bytes of the machine: " + reason.what());
    }
  }

  /// Of all arrays together.
  static std::uint64_t bytes(std::uint64_t vertices, std::uint64_t edges) noexcept {
    std::uint64_t const tiles = (edges + Task::tile - 1) / Task::tile;
    return (vertices + 1) * sizeof(std::uint64_t) + (edges + tiles + 1 + vertices) * sizeof(std::uint32_t) +
           sizeof(components_progress);
  }

  Task task() const noexcept {
    return {.offsets = offsets_.data(),
            .targets = targets_.data(),
            .tile_row = tile_row_.data(),
            .parent = parent_.data(),
            .progress = progress_.data(),
            .edges = edges_,
            .vertices = vertices_,
            .symmetric = symmetric_,
            .trials = trials_};
  }

  /// Those that a run writes; the others are made from the graph alone.
  std::vector<task_array> written() const { return {array_of("label", parent_), array_of("progress", progress_)}; }

  void reset() {
    parent_.fill_zero();
    progress_.fill_zero();
  }

  /// Of the vertices, when the run is over.
  std::vector<std::uint32_t> labels() const { return parent_.read(); }
  components_progress progress() const { return progress_.read().front(); }

 private:
  std::vector<std::uint32_t> rows_of_tiles(csr const& graph) const {
    std::vector<std::uint32_t> rows((edges_ + Task::tile - 1) / Task::tile + 1, vertices_ - 1);
    std::uint64_t tile = 0;
    for (std::uint32_t vertex = 0; vertex < vertices_; ++vertex) {
      while (tile * Task::tile < graph.offsets[vertex + 1ULL]) rows[tile++] = vertex;
    }
    return rows;
  }

  std::uint32_t vertices_;
  std::uint64_t edges_;
  std::uint32_t symmetric_;
  std::uint32_t trials_;
  device_array<std::uint64_t> offsets_;
  device_array<std::uint32_t> targets_;
  device_array<std::uint32_t> tile_row_;
  device_array<std::uint32_t> parent_;
  device_array<components_progress> progress_;
};

}  // namespace lull
