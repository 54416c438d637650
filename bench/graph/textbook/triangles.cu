// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/graph/textbook/algorithms.hpp>

#include <span>
#include <vector>

#include <lull/bench/graph/textbook/block.cuh>
#include <lull/bench/graph/textbook/memory.hpp>

namespace lull::bench {
namespace {

constexpr int triangle_threads = 256;

struct sorted_row {
  std::uint32_t const* first;
  std::uint32_t length;
};

/// Looks a value up in a row of which each 32nd part begins with one of `pivots`.
__device__ bool holds(sorted_row row, std::uint32_t const* pivots, std::uint32_t value) {
  std::uint32_t const part = last_not_above(pivots, 32, value);
  auto begin = static_cast<std::uint32_t>(std::uint64_t{part} * row.length / 32);
  auto end = static_cast<std::uint32_t>((std::uint64_t{part} + 1) * row.length / 32);
  while (begin < end) {
    std::uint32_t const middle = begin + (end - begin) / 2;
    std::uint32_t const found = row.first[middle];
    if (found == value) return true;
    if (found < value) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return false;
}

/// An edge u → v closes a triangle with each w that both have an edge to. Rows rise and edges lead to lower numbers, so
/// w stands before v in u's row.
__global__ void __launch_bounds__(triangle_threads)
    count_triangles(csr_ref graph, std::uint32_t const* sources, unsigned long long* total) {
  __shared__ std::uint32_t pivots[triangle_threads];  // 32 of each warp
  std::uint32_t const lane = threadIdx.x % 32;
  std::uint32_t* const own_pivots = pivots + (threadIdx.x - lane);
  std::uint64_t const warps = std::uint64_t{gridDim.x} * (triangle_threads / 32);
  unsigned long long all = 0;
  for (std::uint64_t edge = (std::uint64_t{blockIdx.x} * triangle_threads + threadIdx.x) / 32; edge < graph.edges;
       edge += warps) {
    std::uint32_t const u = sources[edge];
    std::uint32_t const v = graph.targets[edge];
    std::uint64_t const begin_u = graph.offsets[u];
    std::uint64_t const begin_v = graph.offsets[v];
    sorted_row const up_to_v{graph.targets + begin_u, static_cast<std::uint32_t>(edge - begin_u)};
    sorted_row const of_v{graph.targets + begin_v,
                          static_cast<std::uint32_t>(graph.offsets[v + std::uint64_t{1}] - begin_v)};
    sorted_row const longer = up_to_v.length < of_v.length ? of_v : up_to_v;
    sorted_row const shorter = up_to_v.length < of_v.length ? up_to_v : of_v;
    if (shorter.length == 0) continue;
    __syncwarp();  // the pivots of the edge before are no longer read
    own_pivots[lane] = longer.first[std::uint64_t{lane} * longer.length / 32];
    __syncwarp();
    for (std::uint32_t i = lane; i < shorter.length; i += 32) {
      std::uint32_t const w = shorter.first[i];
      if (own_pivots[0] <= w && holds(longer, own_pivots, w)) ++all;
    }
  }
  add_of_block(all, total);
}

std::vector<std::uint32_t> sources_of_edges(csr const& graph) {
  std::vector<std::uint32_t> sources(graph.edges());
  for (std::uint32_t row = 0; row < graph.vertices(); ++row) {
    for (std::uint64_t edge = graph.offsets[row]; edge < graph.offsets[row + 1ULL]; ++edge) sources[edge] = row;
  }
  return sources;
}

class tricore final : public textbook {
 public:
  explicit tricore(csr const& oriented)
      : graph_(oriented),
        sources_(std::span<std::uint32_t const>{sources_of_edges(oriented)}),
        blocks_(resident_blocks(count_triangles, triangle_threads)) {}

  double run() override {
    return stream_.ms([this] {
      LULL_CUDA(cudaMemsetAsync(total_.get(), 0, total_.bytes(), stream_.get()));
      count_triangles<<<blocks_, triangle_threads, 0, stream_.get()>>>(graph_.ref(), sources_.get(), total_.get());
      LULL_CUDA(cudaGetLastError());
    });
  }

  std::vector<std::uint64_t> result() const override { return {total_.read().front()}; }

 private:
  device_graph graph_;
  device_array<std::uint32_t> sources_;  // (edges,)
  device_array<unsigned long long> total_{1};
  timed_stream stream_;
  unsigned blocks_;
};

}  // namespace

std::unique_ptr<textbook> make_tricore(csr const& oriented) { return std::make_unique<tricore>(oriented); }

}  // namespace lull::bench
