// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>

#include <lull/bench/graph/textbook/block.cuh>
#include <lull/bench/graph/textbook/memory.hpp>
#include <lull/graph/csr/csr.hpp>

namespace lull::bench {

inline constexpr int frontier_threads = 256;
inline constexpr std::uint32_t frontier_tile = 2048;  // edges, or vertices, that a block takes at once

struct frontier_size {
  unsigned long long vertices;
  unsigned long long edges;  // that leave them
};

/// Vertices from each of which an edge leaves, in any order.
struct frontier_queue {
  std::uint32_t* vertex;
  frontier_size* size;
};

__device__ inline unsigned long long degree_of(csr_ref const& graph, std::uint32_t vertex) {
  return graph.offsets[vertex + 1ULL] - graph.offsets[vertex];
}

/// Which queue a vertex goes to.
enum class goes_to { none, near, far };

/// What a block has found in a tile, up to one vertex an edge: near ones from the front of the list, far ones from its
/// back. So a block reserves room in a queue once a tile.
struct found_vertices {
  std::uint32_t vertex[frontier_tile];
  std::uint32_t near_count;
  std::uint32_t far_count;
  unsigned long long near_edges;
  unsigned long long near_place;
  unsigned long long far_place;

  /// One thread, before a __syncthreads.
  __device__ void clear() {
    near_count = 0;
    far_count = 0;
    near_edges = 0;
  }

  /// Any thread; `edges` is what it adds to `append` later. A vertex that no edge leaves is left out.
  __device__ void add(csr_ref const& graph, std::uint32_t found, goes_to where, unsigned long long& edges) {
    if (where == goes_to::none) return;
    unsigned long long const degree = degree_of(graph, found);
    if (degree == 0) return;
    if (where == goes_to::near) {
      vertex[atomicAdd(&near_count, 1U)] = found;
      edges += degree;
    } else {
      vertex[frontier_tile - 1 - atomicAdd(&far_count, 1U)] = found;
    }
  }

  /// The whole block. `far` may be empty where none goes there.
  __device__ void append(frontier_queue near, frontier_queue far, unsigned long long edges) {
    edges = warp_sum(edges);
    if (threadIdx.x % 32 == 0 && edges != 0) atomicAdd(&near_edges, edges);
    __syncthreads();
    if (threadIdx.x == 0 && near_count != 0) {
      near_place = atomicAdd(&near.size->vertices, static_cast<unsigned long long>(near_count));
      atomicAdd(&near.size->edges, near_edges);
    }
    if (threadIdx.x == 32 && far_count != 0) {
      far_place = atomicAdd(&far.size->vertices, static_cast<unsigned long long>(far_count));
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < near_count; i += blockDim.x) near.vertex[near_place + i] = vertex[i];
    for (std::uint32_t i = threadIdx.x; i < far_count; i += blockDim.x) {
      far.vertex[far_place + i] = vertex[frontier_tile - 1 - i];
    }
  }
};

/// Visits each edge that leaves the frontier. A block takes tiles of edges, whatever rows they belong to, so a hub's
/// edges spread over blocks. `first_edge[i]` is the number of edges before those of the frontier's vertex i.
///
/// `Visit` has `seen load(source, edge, target)`, which only loads, and `goes_to operator()(target, seen)`. Sets
/// `cleared` to zero, which must be neither of the sizes in use.
///
/// Source: Davidson, Baxter, Garland, Owens, "Work-efficient parallel GPU methods for single-source shortest paths",
/// IPDPS 2014 (load-balanced partitioning of edges); Gunrock has it as LB: Wang et al.,
/// "Gunrock: GPU graph analytics", ACM TOPC 4 (1), 2017.
template <class Visit>
__global__ void __launch_bounds__(frontier_threads)
    expand(csr_ref graph, frontier_queue from, std::uint64_t const* first_edge, Visit visit, frontier_queue near,
           frontier_queue far, frontier_size* cleared) {
  constexpr std::uint32_t at_once = 4;            // edges whose loads a thread has in flight
  __shared__ std::uint64_t row[frontier_tile];    // plus an edge's number in the tile: where its target lies
  __shared__ std::uint32_t start[frontier_tile];  // of a row, its first edge in the tile
  __shared__ std::uint32_t vertex[frontier_tile];
  __shared__ std::uint32_t ends[2];  // the first and the last vertex of the tile, in the frontier
  __shared__ found_vertices found;
  if (blockIdx.x == 0 && threadIdx.x == 0) *cleared = {};
  auto const vertices = static_cast<std::uint32_t>(from.size->vertices);
  std::uint64_t const edges = from.size->edges;
  for (std::uint64_t begin = std::uint64_t{blockIdx.x} * frontier_tile; begin < edges;
       begin += std::uint64_t{gridDim.x} * frontier_tile) {
    std::uint64_t const left = edges - begin;
    std::uint32_t const count = left < frontier_tile ? static_cast<std::uint32_t>(left) : frontier_tile;
    __syncthreads();  // the tile before is done
    if (threadIdx.x == 0) found.clear();
    if (threadIdx.x == 0) ends[0] = last_not_above(first_edge, vertices, begin);
    if (threadIdx.x == 32) ends[1] = last_not_above(first_edge, vertices, begin + count - 1);
    __syncthreads();
    std::uint32_t const rows = ends[1] - ends[0] + 1;  // each has an edge here
    for (std::uint32_t i = threadIdx.x; i < rows; i += frontier_threads) {
      std::uint64_t const first = first_edge[ends[0] + i];
      vertex[i] = from.vertex[ends[0] + i];
      start[i] = first > begin ? static_cast<std::uint32_t>(first - begin) : 0;
      row[i] = graph.offsets[vertex[i]] + begin - first;
    }
    __syncthreads();
    unsigned long long found_edges = 0;
    for (std::uint32_t at = threadIdx.x; at < count; at += at_once * frontier_threads) {
      std::uint32_t source[at_once] = {};
      std::uint64_t edge[at_once] = {};
      std::uint32_t target[at_once] = {};
      typename Visit::seen seen[at_once] = {};
#pragma unroll
      for (std::uint32_t i = 0; i < at_once; ++i) {
        std::uint32_t const mine = at + i * frontier_threads;
        if (mine >= count) continue;
        std::uint32_t const owner = last_not_above(start, rows, mine);
        source[i] = vertex[owner];
        edge[i] = row[owner] + mine;
        target[i] = graph.targets[edge[i]];
      }
#pragma unroll
      for (std::uint32_t i = 0; i < at_once; ++i) {
        if (at + i * frontier_threads < count) seen[i] = visit.load(source[i], edge[i], target[i]);
      }
#pragma unroll
      for (std::uint32_t i = 0; i < at_once; ++i) {
        if (at + i * frontier_threads < count) found.add(graph, target[i], visit(target[i], seen[i]), found_edges);
      }
    }
    found.append(near, far, found_edges);
  }
}

struct degree_reader {
  std::uint64_t const* offsets;
  __host__ __device__ std::uint64_t operator()(std::uint32_t vertex) const {
    return offsets[vertex + 1ULL] - offsets[vertex];
  }
};

/// Launches `expand`, with the sums that it needs before.
class expander {
 public:
  /// `Visit` as in `run`; only its type counts here.
  template <class Visit>
  expander(csr_ref graph, Visit const*)
      : graph_(graph),
        blocks_(resident_blocks(expand<Visit>, frontier_threads)),
        first_edge_(graph.vertices),
        scratch_(scratch_bytes(graph)) {}

  /// Enqueues. `size` is what the frontier's size on the device is, with at least one edge.
  template <class Visit>
  void run(cudaStream_t stream, frontier_queue from, frontier_size const& size, Visit visit, frontier_queue near,
           frontier_queue far, frontier_size* cleared) {
    std::size_t bytes = scratch_.bytes();
    auto const degrees = thrust::make_transform_iterator(from.vertex, degree_reader{graph_.offsets});
    LULL_CUDA(cub::DeviceScan::ExclusiveSum(scratch_.get(), bytes, degrees, first_edge_.get(),
                                            static_cast<std::uint32_t>(size.vertices), stream));
    unsigned const blocks = std::min(blocks_, blocks_of(size.edges, frontier_tile));
    expand<<<blocks, frontier_threads, 0, stream>>>(graph_, from, first_edge_.get(), visit, near, far, cleared);
    LULL_CUDA(cudaGetLastError());
  }

 private:
  static std::size_t scratch_bytes(csr_ref graph) {
    std::size_t bytes = 0;
    auto const degrees =
        thrust::make_transform_iterator(static_cast<std::uint32_t*>(nullptr), degree_reader{graph.offsets});
    LULL_CUDA(
        cub::DeviceScan::ExclusiveSum(nullptr, bytes, degrees, static_cast<std::uint64_t*>(nullptr), graph.vertices));
    return bytes;
  }

  csr_ref graph_;
  unsigned blocks_;
  device_array<std::uint64_t> first_edge_;  // (vertices,)
  device_array<char> scratch_;
};

}  // namespace lull::bench
