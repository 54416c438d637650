// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/betweenness/betweenness.hpp>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/owner.hpp>
#include <span>
#include <string>
#include <vector>

namespace lull {

/// What betweenness centrality works on, on a machine; `Task` is a basic_betweenness. Movable; must go before the
/// machine does.
template <class Task>
class betweenness_arrays {
 public:
  /// `out` holds the edges as loaded and must be valid; its weights are not looked at. `sources`: at least one, each a
  /// vertex. Throws limit_error, with the figures, where the machine's memory does not suffice or the graph is larger
  /// than a queue can be; std::bad_alloc where that of the host does not suffice.
  betweenness_arrays(executor& executor, csr const& out, std::span<std::uint32_t const> sources)
      : vertices_(out.vertices()), edges_(out.edges()) {
    if (vertices_ > queue_mark::max_vertices || edges_ > queue_mark::max_edges) {
      throw limit_error("betweenness: a graph of " + std::to_string(vertices_) + " vertices and " +
                        std::to_string(edges_) + " edges is too large: it can have " +
                        std::to_string(queue_mark::max_vertices) + " vertices and " +
                        std::to_string(queue_mark::max_edges) + " edges");
    }
    try {
      fill(executor, out, sources);
    } catch (limit_error const& reason) {
      throw limit_error("betweenness of " + std::to_string(vertices_) + " vertices and " + std::to_string(edges_) +
                        " edges from " + std::to_string(sources.size()) + " sources takes " +
                        std::to_string(bytes(vertices_, edges_, sources.size())) +
                        " bytes of the machine: " + reason.what());
    }
  }

  /// Of all arrays together.
  static std::uint64_t bytes(std::uint64_t vertices, std::uint64_t edges, std::uint64_t sources) noexcept {
    constexpr std::uint64_t of_queue = sizeof(std::uint32_t) + sizeof(std::uint64_t);
    constexpr std::uint64_t of_vertex = sizeof(std::uint32_t) + sizeof(wide_number) + sizeof(double) + 2 * of_queue;
    std::uint64_t const graph = (vertices + 1) * sizeof(std::uint64_t) + edges * sizeof(std::uint32_t);
    return 2 * graph + vertices * of_vertex + (vertices + 1) * sizeof(std::uint64_t) + 2 * long_rows(edges) * of_queue +
           (part_sums(edges, 0) + part_sums(edges, 1)) * sizeof(wide_number) + sources * sizeof(std::uint32_t) +
           sizeof(betweenness_progress);
  }

  Task task() const noexcept {
    return {{.out = {out_offsets_.data(), out_targets_.data()},
             .in = {in_offsets_.data(), in_sources_.data()},
             .sources = sources_.data(),
             .depths = depths_.data(),
             .values = values_.data(),
             .totals = totals_.data(),
             .levels = {level_vertices_.data(), level_edges_.data()},
             .level_begins = level_begins_.data(),
             .next = {next_vertices_.data(), next_edges_.data()},
             .long_rows = {{long_vertices_[0].data(), long_edges_[0].data()},
                           {long_vertices_[1].data(), long_edges_[1].data()}},
             .part_sums = {part_sums_[0].data(), part_sums_[1].data()},
             .progress = progress_.data(),
             .graph = {.long_rows = long_rows(edges_),
                       .vertices = vertices_,
                       .sources = static_cast<std::uint32_t>(sources_.size())}}};
  }

  /// Those that a run writes; the others are made from the graph alone.
  std::vector<task_array> written() const {
    return {array_of("totals", totals_),
            array_of("depths", depths_),
            array_of("values", values_),
            array_of("level_vertices", level_vertices_),
            array_of("level_edges", level_edges_),
            array_of("level_begins", level_begins_),
            array_of("next_vertices", next_vertices_),
            array_of("next_edges", next_edges_),
            array_of("long_0_vertices", long_vertices_[0]),
            array_of("long_0_edges", long_edges_[0]),
            array_of("long_1_vertices", long_vertices_[1]),
            array_of("long_1_edges", long_edges_[1]),
            array_of("part_sums_0", part_sums_[0]),
            array_of("part_sums_1", part_sums_[1]),
            array_of("progress", progress_)};
  }

  void reset() {
    totals_.fill_zero();
    depths_.fill_zero();
    values_.fill_zero();
    level_vertices_.fill_zero();
    level_edges_.fill_zero();
    level_begins_.fill_zero();
    next_vertices_.fill_zero();
    next_edges_.fill_zero();
    for (auto& one : long_vertices_) one.fill_zero();
    for (auto& one : long_edges_) one.fill_zero();
    for (auto& one : part_sums_) one.fill_zero();
    progress_.fill_zero();
  }

  betweenness_progress progress() const { return progress_.read().front(); }
  /// Of each vertex, added up over the sources.
  std::vector<double> totals() const { return totals_.read(); }

 private:
  /// Room for rows of several parts, and for the sums of the parts of an even or an odd stage. At least one: an array
  /// is never empty.
  static std::uint64_t long_rows(std::uint64_t edges) noexcept { return edges / (2 * Task::part) + 1; }
  static std::uint64_t part_sums(std::uint64_t edges, int stage) noexcept {
    return edges / Task::part / (stage != 0 ? Task::part : 1) + 1;
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
    depths_ = {executor, vertices_};
    values_ = {executor, vertices_};
    totals_ = {executor, vertices_};
    level_vertices_ = {executor, vertices_};
    level_edges_ = {executor, vertices_};
    level_begins_ = {executor, vertices_ + std::uint64_t{1}};
    next_vertices_ = {executor, vertices_};
    next_edges_ = {executor, vertices_};
    for (auto& one : long_vertices_) one = {executor, long_rows(edges_)};
    for (auto& one : long_edges_) one = {executor, long_rows(edges_)};
    for (int stage = 0; stage < 2; ++stage) part_sums_[stage] = {executor, part_sums(edges_, stage)};
    progress_ = {executor, 1};
  }

  std::uint32_t vertices_;
  std::uint64_t edges_;
  device_array<std::uint64_t> out_offsets_;
  device_array<std::uint32_t> out_targets_;
  device_array<std::uint64_t> in_offsets_;
  device_array<std::uint32_t> in_sources_;
  device_array<std::uint32_t> sources_;
  device_array<std::uint32_t> depths_;
  device_array<wide_number> values_;
  device_array<double> totals_;
  device_array<std::uint32_t> level_vertices_;
  device_array<std::uint64_t> level_edges_;
  device_array<std::uint64_t> level_begins_;
  device_array<std::uint32_t> next_vertices_;
  device_array<std::uint64_t> next_edges_;
  device_array<std::uint32_t> long_vertices_[2];
  device_array<std::uint64_t> long_edges_[2];
  device_array<wide_number> part_sums_[2];
  device_array<betweenness_progress> progress_;
};

}  // namespace lull
