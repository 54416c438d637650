// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/graph/textbook/algorithms.hpp>

#include <utility>

#include <lull/bench/graph/textbook/frontier.cuh>
#include <lull/graph/csr/transpose.hpp>

namespace lull::bench {
namespace {

constexpr std::uint32_t unreached = ~0U;

/// Rings: a kernel reads one size, adds to the next, and clears the third; likewise it adds to one `reached`, and
/// clears the other.
struct search_counts {
  frontier_size size[3];          // of frontiers in a queue
  unsigned long long reached[2];  // by a level bottom-up
};

/// Reaches vertices: the first thread at one appends it.
struct reach {
  using seen = std::uint32_t;

  std::uint32_t* depth;
  std::uint32_t next;

  __device__ seen load(std::uint32_t, std::uint64_t, std::uint32_t target) const { return depth[target]; }
  __device__ goes_to operator()(std::uint32_t target, seen before) const {
    bool const first = before == unreached && atomicCAS(&depth[target], unreached, next) == unreached;
    return first ? goes_to::near : goes_to::none;
  }
};

__global__ void begin_at(std::uint32_t source, unsigned long long edges, std::uint32_t* depth, frontier_queue queue) {
  depth[source] = 0;
  queue.vertex[0] = source;
  *queue.size = {edges != 0 ? 1ULL : 0ULL, edges};
}

__global__ void queue_to_bitmap(frontier_queue from, std::uint32_t* bits) {
  auto const vertices = static_cast<std::uint32_t>(from.size->vertices);
  std::uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vertices) return;
  std::uint32_t const vertex = from.vertex[i];
  atomicOr(&bits[vertex / 32], 1U << (vertex % 32));
}

/// A warp takes the 32 vertices of a word. A thread looks at the edges that enter its vertex, until one comes from the
/// frontier.
__global__ void __launch_bounds__(frontier_threads)
    bottom_up(csr_ref in, std::uint32_t* depth, std::uint32_t next, std::uint32_t const* frontier,
              std::uint32_t* next_frontier, unsigned long long* reached, unsigned long long* cleared) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *cleared = 0;
  std::uint32_t const lane = threadIdx.x % 32;
  std::uint64_t const words = (std::uint64_t{in.vertices} + 31) / 32;
  std::uint64_t const warps = std::uint64_t{gridDim.x} * (frontier_threads / 32);
  unsigned long long count = 0;
  for (std::uint64_t word = (std::uint64_t{blockIdx.x} * frontier_threads + threadIdx.x) / 32; word < words;
       word += warps) {
    std::uint64_t const vertex = word * 32 + lane;
    bool found = false;
    if (vertex < in.vertices && depth[vertex] == unreached) {
      std::uint64_t const end = in.offsets[vertex + 1];
      for (std::uint64_t edge = in.offsets[vertex]; edge < end && !found; ++edge) {
        std::uint32_t const source = in.targets[edge];
        found = (frontier[source / 32] >> (source % 32) & 1) != 0;
      }
      if (found) depth[vertex] = next;
    }
    std::uint32_t const bits = __ballot_sync(~0U, found);
    if (lane == 0) {
      next_frontier[word] = bits;
      count += static_cast<unsigned>(__popc(static_cast<int>(bits)));
    }
  }
  add_of_block(count, reached);
}

__global__ void __launch_bounds__(frontier_threads)
    bitmap_to_queue(csr_ref graph, std::uint32_t const* bits, frontier_queue to, frontier_size* cleared) {
  __shared__ found_vertices found;
  if (blockIdx.x == 0 && threadIdx.x == 0) *cleared = {};
  if (threadIdx.x == 0) found.clear();
  __syncthreads();
  unsigned long long edges = 0;
  for (std::uint32_t i = threadIdx.x; i < frontier_tile; i += frontier_threads) {
    std::uint64_t const vertex = std::uint64_t{blockIdx.x} * frontier_tile + i;
    if (vertex >= graph.vertices || (bits[vertex / 32] >> (vertex % 32) & 1) == 0) continue;
    found.add(graph, static_cast<std::uint32_t>(vertex), goes_to::near, edges);
  }
  found.append(to, {}, edges);
}

class direction_optimising_search final : public textbook {
 public:
  static constexpr std::uint64_t alpha = 15;
  static constexpr std::uint64_t beta = 18;

  direction_optimising_search(csr const& graph, std::uint32_t source)
      : out_(graph),
        in_(transpose(graph)),
        source_(source),
        edges_(graph.offsets[source + 1ULL] - graph.offsets[source]),
        depth_(vertices()),
        queues_{device_array<std::uint32_t>{vertices()}, device_array<std::uint32_t>{vertices()}},
        expander_(out_.ref(), static_cast<reach const*>(nullptr)),
        bitmaps_{device_array<std::uint32_t>{words()}, device_array<std::uint32_t>{words()}},
        blocks_(std::min(resident_blocks(bottom_up, frontier_threads), blocks_of(vertices(), frontier_threads))) {}

  double run() override {
    return stream_.ms([&] {
      begin();
      levels();
    });
  }

  std::vector<std::uint64_t> result() const override {
    std::vector<std::uint32_t> const depths = depth_.read();
    return {depths.begin(), depths.end()};
  }

 private:
  std::uint32_t vertices() const { return out_.ref().vertices; }
  std::size_t words() const { return (std::size_t{vertices()} + 31) / 32; }
  cudaStream_t stream() const { return stream_.get(); }
  search_counts* counts() const { return counts_.device(); }

  frontier_queue frontier() const { return {queues_[step_ % 2].get(), &counts()->size[step_ % 3]}; }
  frontier_queue next() const { return {queues_[(step_ + 1) % 2].get(), &counts()->size[(step_ + 1) % 3]}; }
  frontier_size* cleared() const { return &counts()->size[(step_ + 2) % 3]; }

  void begin() {
    step_ = 0;
    level_ = 0;
    size_ = {edges_ != 0 ? 1ULL : 0ULL, edges_};
    counts_.clear(stream());
    LULL_CUDA(cudaMemsetAsync(depth_.get(), 0xff, depth_.bytes(), stream()));
    begin_at<<<1, 1, 0, stream()>>>(source_, edges_, depth_.get(), frontier());
    LULL_CUDA(cudaGetLastError());
  }

  void levels() {
    std::uint64_t to_check = in_.ref().edges;
    std::uint64_t scout = size_.edges;
    std::uint32_t climbed = 0;  // levels bottom-up
    while (size_.vertices != 0) {
      if (scout <= to_check / alpha) {
        to_check -= scout;
        top_down();
        scout = size_.edges;
        continue;
      }
      LULL_CUDA(cudaMemsetAsync(bitmaps_[0].get(), 0, bitmaps_[0].bytes(), stream()));
      queue_to_bitmap<<<blocks_of(size_.vertices, frontier_threads), frontier_threads, 0, stream()>>>(
          frontier(), bitmaps_[0].get());
      LULL_CUDA(cudaGetLastError());
      std::uint64_t before = 0;
      std::uint64_t reached = size_.vertices;
      do {
        before = std::exchange(reached, climb(climbed));
        climbed += 1;
      } while (reached >= before || reached > vertices() / beta);
      if (reached == 0) return;
      bitmap_to_queue<<<blocks_of(vertices(), frontier_tile), frontier_threads, 0, stream()>>>(
          out_.ref(), bitmaps_[0].get(), next(), cleared());
      LULL_CUDA(cudaGetLastError());
      next_queue();
      scout = 1;
    }
  }

  void top_down() {
    expander_.run(stream(), frontier(), size_, reach{depth_.get(), level_ + 1}, next(), {}, cleared());
    next_queue();
    level_ += 1;
  }

  /// The host waits for the size of the frontier.
  void next_queue() {
    step_ += 1;
    size_ = counts_.read(stream()).size[step_ % 3];
  }

  /// A level bottom-up; returns how many vertices it has reached.
  std::uint64_t climb(std::uint32_t climbed) {
    bottom_up<<<blocks_, frontier_threads, 0, stream()>>>(in_.ref(), depth_.get(), level_ + 1, bitmaps_[0].get(),
                                                          bitmaps_[1].get(), &counts()->reached[climbed % 2],
                                                          &counts()->reached[(climbed + 1) % 2]);
    LULL_CUDA(cudaGetLastError());
    std::swap(bitmaps_[0], bitmaps_[1]);
    level_ += 1;
    return counts_.read(stream()).reached[climbed % 2];
  }

  device_graph out_;
  device_graph in_;
  std::uint32_t source_;
  std::uint64_t edges_;  // that leave it
  timed_stream stream_;
  device_array<std::uint32_t> depth_;      // (vertices,)
  device_array<std::uint32_t> queues_[2];  // (vertices,)
  host_read_counts<search_counts> counts_;
  expander expander_;
  device_array<std::uint32_t> bitmaps_[2];  // (words,) of the frontier and the next one
  unsigned blocks_;
  std::uint32_t step_ = 0;   // queues so far
  std::uint32_t level_ = 0;  // depth of the frontier
  frontier_size size_{};     // of the frontier
};

}  // namespace

std::unique_ptr<textbook> make_direction_optimising_bfs(csr const& graph, std::uint32_t source) {
  return std::make_unique<direction_optimising_search>(graph, source);
}

}  // namespace lull::bench
