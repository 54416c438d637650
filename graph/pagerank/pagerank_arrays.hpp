// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/graph_arrays.hpp>
#include <lull/graph/pagerank/pagerank.hpp>
#include <lull/host/task/array_table.hpp>
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
class pagerank_arrays : public functor_arrays<Task> {
  using functor_arrays<Task>::table_;
  using functor_arrays<Task>::task_;

 public:
  /// `out` holds the edges as loaded and must be valid; its weights are not looked at. Throws limit_error, with the
  /// figures, where the machine's memory does not suffice, std::bad_alloc where that of the host does not.
  pagerank_arrays(device_memory& memory, csr const& out, pagerank_settings const& settings)
      : functor_arrays<Task>(memory, sized(out.extent())) {
    task_.sweeps = settings.sweeps;
    task_.damping = settings.damping;
    task_.tolerance = settings.tolerance;
    detail::fill_arrays("PageRank of " + out.extent().text() + " takes", bytes(out.extent()),
                        [&] { add_arrays(table_, task_, out); });
  }

  /// Of all arrays together, at most: vertices that no edge leads to have no sum.
  static std::uint64_t bytes(graph_extent size) {
    return functor_arrays<Task>::bytes_of(sized(size),
                                          [&](array_table& table, Task& task) { add_arrays(table, task, {}); });
  }

  std::vector<float> ranks() const { return table_.read(task_.rank); }
  pagerank_progress progress() const { return table_.read(task_.progress).front(); }

 private:
  static Task sized(graph_extent size) {
    Task task{};
    task.vertices = static_cast<std::uint32_t>(size.vertices);
    task.tiles = (size.edges + Task::tile - 1) / Task::tile;
    return task;
  }

  /// Each array, once.
  static void add_arrays(array_table& table, Task& task, csr const& out) {
    std::uint64_t const rows = add_rows(table, task, table.only_counts() ? csr{} : transpose(out));
    table.input(task.inverse_degree, task.vertices, inverse_degrees(out));
    table.cleared(task.rank, "rank", {task.vertices});
    table.cleared(task.share, "share", {task.vertices});
    table.cleared(task.sum, "sum", {rows});
    table.cleared(task.carry, "carry", {task.tiles});
    table.cleared(task.block_carry, "block_carry", {task.blocks()});
    table.cleared(task.partial, "partial", {task.settles()});
    table.cleared(task.folded, "folded", {task.folds()});
    table.cleared(task.progress, "progress", {1});
  }

  static host_array<float> inverse_degrees(csr const& out) {
    host_array<float> inverse(out.vertices());
    for (std::size_t vertex = 0; vertex < inverse.size(); ++vertex) {
      auto const degree = out.offsets[vertex + 1] - out.offsets[vertex];
      inverse[vertex] = degree == 0 ? 0.0F : 1 / static_cast<float>(degree);
    }
    return inverse;
  }

  /// Edges, where rows end, and which vertices have one: rows without edges are left out. Returns how many rows there
  /// are, at most.
  static std::uint64_t add_rows(array_table& table, Task& task, csr const& in) {
    std::uint64_t const words = (task.tiles * Task::tile + 31) / 32;
    std::uint64_t const entered_words = (task.vertices + 31ULL) / 32;
    table.input(task.sources, task.tiles * Task::tile / 4);
    if (table.only_counts()) {
      table.input(task.row_ends, words);
      table.input(task.tile_row, task.tiles + 1);
      table.input(task.entered, entered_words);
      return task.vertices;
    }
    table.write(task.sources, std::span<std::uint32_t const>{in.targets});
    std::vector<std::uint32_t> ends(words);
    std::vector<std::uint32_t> tile_row(task.tiles + 1);
    std::vector<entered_word> entered(entered_words);
    std::uint32_t rows = 0;
    std::uint64_t tile = 0;
    for (std::uint64_t vertex = 0; vertex < task.vertices; ++vertex) {
      entered_word& word = entered[vertex / 32];
      if (vertex % 32 == 0) word.before = rows;
      if (in.offsets[vertex] == in.offsets[vertex + 1]) continue;
      word.bits |= 1U << (vertex % 32);
      std::uint64_t const last = in.offsets[vertex + 1] - 1;
      ends[last / 32] |= 1U << (last % 32);
      while (tile <= last / Task::tile) tile_row[tile++] = rows;
      ++rows;
    }
    tile_row[task.tiles] = rows;
    table.input(task.row_ends, words, ends);
    table.input(task.tile_row, task.tiles + 1, tile_row);
    table.input(task.entered, entered_words, entered);
    return rows;
  }
};

}  // namespace lull
