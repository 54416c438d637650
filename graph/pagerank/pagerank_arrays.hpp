// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/pagerank/pagerank.hpp>
#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/owner.hpp>
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
  pagerank_arrays(executor& executor, csr const& out, pagerank_settings const& settings)
      : settings_(settings), vertices_(out.vertices()), edges_(out.edges()) {
    tiles_ = (edges_ + Task::tile - 1) / Task::tile;
    try {
      fill(executor, out);
    } catch (limit_error const& reason) {
      throw limit_error("PageRank of " + std::to_string(vertices_) + " vertices and " + std::to_string(edges_) +
                        " edges takes " + std::to_string(bytes(vertices_, edges_)) +
                        " bytes of the machine: " + reason.what());
    }
  }

  /// Of all arrays together, at most: vertices that no edge leads to have no sum.
  static std::uint64_t bytes(std::uint64_t vertices, std::uint64_t edges) noexcept {
    Task sizes{};
    sizes.vertices = static_cast<std::uint32_t>(vertices);
    sizes.tiles = (edges + Task::tile - 1) / Task::tile;
    std::uint64_t const of_tiles = (sizes.tiles + 1) * (Task::tile * sizeof(std::uint32_t) + Task::tile / 8 +
                                                        sizeof(std::uint32_t) + sizeof(float));
    return of_tiles + vertices * 4 * sizeof(float) + (vertices / 32 + 1) * sizeof(entered_word) +
           sizes.blocks() * sizeof(double) + (sizes.settles() + sizes.folds()) * sizeof(pagerank_partial) +
           sizeof(pagerank_progress);
  }

  Task task() const noexcept {
    return {.sources = sources_.data(),
            .row_ends = row_ends_.data(),
            .tile_row = tile_row_.data(),
            .entered = entered_.data(),
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
            .sweeps = settings_.sweeps,
            .damping = settings_.damping,
            .tolerance = settings_.tolerance,
            .vertices = vertices_};
  }

  /// Those that a run writes; the others are made from the graph alone.
  std::vector<task_array> written() const {
    return {array_of("rank", rank_),
            array_of("share", share_),
            array_of("sum", sum_),
            array_of("carry", carry_),
            array_of("block_carry", block_carry_),
            array_of("partial", partial_),
            array_of("folded", folded_),
            array_of("progress", progress_)};
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
  void fill(executor& executor, csr const& out) {
    {
      csr const in = transpose(out);
      sources_ = {executor, tiles_ * Task::tile / 4};
      executor.write(sources_.data(), in.targets.data(), edges_ * sizeof(std::uint32_t));
      lay_out_rows(executor, in);
    }
    host_array<float> inverse(vertices_);
    for (std::size_t vertex = 0; vertex < vertices_; ++vertex) {
      auto const degree = out.offsets[vertex + 1] - out.offsets[vertex];
      inverse[vertex] = degree == 0 ? 0.0F : 1 / static_cast<float>(degree);
    }
    inverse_degree_ = {executor, std::span<float const>{inverse}};
    rank_ = {executor, vertices_};
    share_ = {executor, vertices_};
    carry_ = {executor, tiles_};
    Task const sizes = task();
    block_carry_ = {executor, sizes.blocks()};
    partial_ = {executor, sizes.settles()};
    folded_ = {executor, sizes.folds()};
    progress_ = {executor, 1};
  }

  /// Where rows end, and which vertices have one: rows without edges are left out.
  void lay_out_rows(executor& executor, csr const& in) {
    std::vector<std::uint32_t> ends((tiles_ * Task::tile + 31) / 32);
    std::vector<std::uint32_t> tile_row(tiles_ + 1);
    std::vector<entered_word> entered((vertices_ + 31ULL) / 32);
    std::uint32_t rows = 0;
    std::uint64_t tile = 0;
    for (std::uint64_t vertex = 0; vertex < vertices_; ++vertex) {
      entered_word& word = entered[vertex / 32];
      if (vertex % 32 == 0) word.before = rows;
      if (in.offsets[vertex] == in.offsets[vertex + 1]) continue;
      word.bits |= 1U << (vertex % 32);
      std::uint64_t const last = in.offsets[vertex + 1] - 1;
      ends[last / 32] |= 1U << (last % 32);
      while (tile <= last / Task::tile) tile_row[tile++] = rows;
      ++rows;
    }
    tile_row[tiles_] = rows;
    row_ends_ = {executor, std::span<std::uint32_t const>{ends}};
    tile_row_ = {executor, std::span<std::uint32_t const>{tile_row}};
    entered_ = {executor, std::span<entered_word const>{entered}};
    sum_ = {executor, rows};
  }

  pagerank_settings settings_;
  std::uint32_t vertices_;
  std::uint64_t edges_;
  std::uint64_t tiles_ = 0;
  device_array<source_quad> sources_;
  device_array<std::uint32_t> row_ends_;
  device_array<std::uint32_t> tile_row_;
  device_array<entered_word> entered_;
  device_array<float> inverse_degree_;
  device_array<float> rank_;
  device_array<float> share_;
  device_array<float> sum_;
  device_array<float> carry_;
  device_array<double> block_carry_;
  device_array<pagerank_partial> partial_;
  device_array<pagerank_partial> folded_;
  device_array<pagerank_progress> progress_;
};

}  // namespace lull
