// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <lull/graph/csr/csr.hpp>
#include <vector>

namespace lull {

struct edge {
  std::uint32_t source;
  std::uint32_t target;
};

/// Edges in the order they came, before they are a graph. In blocks, so that threads can make and read them side by
/// side and nothing is copied when it grows; tens of thousands of edges are a good size, 2³⁰ the greatest.
struct edge_list {
  struct block {
    host_array<edge> edges;     // (block edges,)
    host_array<float> weights;  // (block edges,) f32, or empty
  };
  std::vector<block> blocks;
  bool weighted = false;  // all blocks have weights, or none has
};

/// Edges that are made when they are asked for: no list of all of them is held.
struct edge_supply {
  std::vector<std::uint64_t> max_edges{};  // (parts,) of each part; below 2³⁰
  bool weighted = false;                   // all parts have weights, or none has
  /// Writes the edges of a part into a block that may hold those of an earlier one. Called once for each part, by
  /// several threads at a time.
  std::function<void(std::size_t part, edge_list::block& block)> make{};
};

/// Which edges also count in the opposite direction.
enum class mirror {
  none,
  off_diagonal,  // all but self-loops: the lower triangle of a symmetric matrix
  all,           // self-loops too, so that degrees sum to twice the list: how the GAP benchmark symmetrises
};

/// The graph of these edges; a row holds its edges in the order of the list, whatever the number of threads (0: those
/// of the machine). Duplicates and self-loops stay. Every id must be below `vertices`, which is not checked here.
/// Consumes the list block by block: at its highest the memory holds the graph and 6 bytes for each of its edges (10
/// with a weight), or the list and a little more.
csr make_csr(edge_list list, std::uint32_t vertices, mirror mirrored, unsigned threads = 0);

/// The same of edges in the order of their parts; throws what `make` does. `make` is destroyed before rows are filled,
/// so that what it owns does not count to the memory that is held then.
csr make_csr(edge_supply supply, std::uint32_t vertices, mirror mirrored, unsigned threads = 0);

}  // namespace lull
