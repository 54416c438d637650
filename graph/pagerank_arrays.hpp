// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <lull/graph/csr.hpp>
#include <lull/graph/pagerank.hpp>
#include <lull/graph/transpose.hpp>
#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/owner.hpp>
#include <span>
#include <string>
#include <vector>

namespace lull {

struct pagerank_settings {
  double damping = 0.85;
  double tolerance = 1e-6;
  std::uint64_t sweeps = 100;
};

/// What PageRank works on, on a machine; `Task` is a basic_pagerank. Movable; must go before the machine does.
template <class Task>
class pagerank_arrays {
 public:
  /// `out` holds the edges as loaded and must be valid; its weights are not looked at. Throws limit_error, with the
  /// figures, where the machine's memory does not suffice, std::bad_alloc where that of the host does not.
  pagerank_arrays(executor& machine, csr const& out, pagerank_settings const& settings)
      : settings_(settings), vertices_(out.vertices()), edges_(out.edges()) {
    tiles_ = up(std::uint64_t{vertices_} + edges_, Task::tile);
    blocks_ = up(tiles_, Task::block);
    try {
      fill(machine, out);
    } catch (limit_error const& reason) {
      throw limit_error("PageRank of " + std::to_string(vertices_) + " vertices and " + std::to_string(edges_) +
                        " edges takes " + std::to_string(bytes()) + " bytes of the machine: " + reason.what());
    }
  }

  Task task() const noexcept {
    return {.in = {.offsets = offsets_.data(),
                   .targets = sources_.data(),
                   .weights = nullptr,
                   .edges = edges_,
                   .vertices = vertices_},
            .tile_row = tile_row_.data(),
            .inverse_degree = inverse_degree_.data(),
            .rank = rank_.data(),
            .share = share_.data(),
            .sum = sum_.data(),
            .carry = carry_.data(),
            .block_carry = block_carry_.data(),
            .partial = partial_.data(),
            .folded = folded_.data(),
            .progress = progress_.data(),
            .tiles = tiles_,
            .blocks = blocks_,
            .combines = combines_,
            .sweeps = settings_.sweeps,
            .damping = settings_.damping,
            .tolerance = settings_.tolerance};
  }

  /// Those that a run writes; the others are made from the graph alone.
  std::vector<task_array> written() const {
    return {{"rank", rank_.data(), rank_.bytes()},
            {"share", share_.data(), share_.bytes()},
            {"sum", sum_.data(), sum_.bytes()},
            {"carry", carry_.data(), carry_.bytes()},
            {"block_carry", block_carry_.data(), block_carry_.bytes()},
            {"partial", partial_.data(), partial_.bytes()},
            {"folded", folded_.data(), folded_.bytes()},
            {"progress", progress_.data(), progress_.bytes()}};
  }

  void reset() {
    rank_.fill_zero();
    share_.fill_zero();
    sum_.fill_zero();
    carry_.fill_zero();
    block_carry_.fill_zero();
    partial_.fill_zero();
    folded_.fill_zero();
    progress_.fill_zero();
  }

  std::vector<float> ranks() const { return rank_.read(); }
  pagerank_progress progress() const { return progress_.read().front(); }

 private:
  static std::uint64_t up(std::uint64_t count, std::uint64_t size) noexcept { return (count + size - 1) / size; }

  /// Of all arrays together.
  std::uint64_t bytes() const noexcept {
    std::uint64_t const per_vertex = sizeof(std::uint64_t) + 4 * sizeof(float);
    std::uint64_t const per_tile = sizeof(std::uint32_t) + sizeof(float) + sizeof(pagerank_partial);
    std::uint64_t const per_block = sizeof(double) + sizeof(pagerank_partial);
    return vertices_ * per_vertex + edges_ * sizeof(std::uint32_t) + tiles_ * per_tile + blocks_ * per_block;
  }

  void fill(executor& machine, csr const& out) {
    {
      csr const in = transpose(out);
      auto const rows = tile_rows(in);
      combines_ = 0;
      for (std::uint64_t first = 0; first + Task::block <= tiles_; first += Task::block) {
        if (rows[first + 1] == rows[first + Task::block]) combines_ = blocks_;
      }
      offsets_ = {machine, std::span<std::uint64_t const>{in.offsets}};
      sources_ = {machine, std::span<std::uint32_t const>{in.targets}};
      tile_row_ = {machine, std::span<std::uint32_t const>{rows}};
    }
    host_array<float> inverse(vertices_);
    for (std::size_t vertex = 0; vertex < vertices_; ++vertex) {
      auto const degree = out.offsets[vertex + 1] - out.offsets[vertex];
      inverse[vertex] = degree == 0 ? 0.0F : 1 / static_cast<float>(degree);
    }
    inverse_degree_ = {machine, std::span<float const>{inverse}};
    rank_ = {machine, vertices_};
    share_ = {machine, vertices_};
    sum_ = {machine, vertices_};
    carry_ = {machine, tiles_};
    block_carry_ = {machine, blocks_};
    partial_ = {machine, tiles_};
    folded_ = {machine, blocks_};
    progress_ = {machine, 1};
  }

  /// Of each tile, and of what would follow the last one: the rows that end before it.
  host_array<std::uint32_t> tile_rows(csr const& in) const {
    host_array<std::uint32_t> rows(tiles_ + 1);
    std::uint64_t row = 0;
    for (std::uint64_t tile = 0; tile < tiles_; ++tile) {
      while (row < vertices_ && in.offsets[row + 1] + row < tile * Task::tile) ++row;
      rows[tile] = static_cast<std::uint32_t>(row);
    }
    rows[tiles_] = vertices_;
    return rows;
  }

  pagerank_settings settings_;
  std::uint32_t vertices_;
  std::uint64_t edges_;
  std::uint64_t tiles_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t combines_ = 0;
  machine_array<std::uint64_t> offsets_;
  machine_array<std::uint32_t> sources_;
  machine_array<std::uint32_t> tile_row_;
  machine_array<float> inverse_degree_;
  machine_array<float> rank_;
  machine_array<float> share_;
  machine_array<float> sum_;
  machine_array<float> carry_;
  machine_array<double> block_carry_;
  machine_array<pagerank_partial> partial_;
  machine_array<pagerank_partial> folded_;
  machine_array<pagerank_progress> progress_;
};

}  // namespace lull
