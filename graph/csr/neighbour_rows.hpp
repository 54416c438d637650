// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/parallel.hpp>
#include <span>

namespace lull::detail {

/// A graph as undirected and simple, for verifiers: each vertex's neighbours, without duplicates and itself.
class neighbour_rows {
 public:
  /// The graph must be valid. Rows rise. At its highest the memory holds, beside the graph, 12 bytes for each of its
  /// edges and 24 for each vertex; throws std::bad_alloc where it does not suffice.
  neighbour_rows(csr const& graph, unsigned threads);

  std::uint32_t vertices() const { return static_cast<std::uint32_t>(sizes_.size()); }
  std::span<std::uint32_t> of(std::uint32_t vertex) { return {all_.data() + begins_[vertex], sizes_[vertex]}; }
  std::span<std::uint32_t const> of(std::uint32_t vertex) const {
    return {all_.data() + begins_[vertex], sizes_[vertex]};
  }

  /// Calls work(vertex) for each, on up to `threads` threads.
  template <class Work>
  void for_each_vertex(unsigned threads, Work const& work) const {
    constexpr std::size_t max_parts = 1024;  // of vertices, each one apart from the next: hubs are spread over parts
    auto const parts = std::min<std::size_t>(max_parts, vertices());
    for_each_part(parts, threads, [&](std::size_t part) {
      for (auto vertex = part; vertex < vertices(); vertex += parts) work(static_cast<std::uint32_t>(vertex));
    });
  }

 private:
  void join(csr const& graph, csr const& in, std::uint32_t vertex);

  host_array<std::uint64_t> begins_;  // (vertices + 1,)
  host_array<std::uint64_t> sizes_;   // (vertices,)
  host_array<std::uint32_t> all_;     // rows, with what is left of duplicates between them
};

}  // namespace lull::detail
