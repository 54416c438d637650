// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/graph/textbook/algorithms.hpp>

#include <optional>

#include <lull/bench/graph/textbook/memory.hpp>
#include <lull/graph/csr/symmetric.hpp>
#include <lull/graph/csr/transpose.hpp>

namespace lull::bench {
namespace {

constexpr int component_threads = 256;
constexpr std::uint32_t neighbour_rounds = 2;
constexpr int samples = 1024;

__global__ void begin_apart(std::uint32_t* component, std::uint32_t vertices) {
  std::uint64_t const vertex = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (vertex < vertices) component[vertex] = static_cast<std::uint32_t>(vertex);
}

/// Makes the trees of two vertices one: the higher root gets the lower vertex as its parent. What a load sees may be a
/// former parent, which is still above the vertex; but a failed exchange tells the present one, so that the higher of
/// the two falls each time.
__device__ void link(std::uint32_t u, std::uint32_t v, std::uint32_t* component) {
  std::uint32_t a = component[u];
  std::uint32_t b = component[v];
  while (a != b) {
    std::uint32_t const high = a > b ? a : b;
    std::uint32_t const low = a > b ? b : a;
    std::uint32_t above = component[high];
    if (above == low) return;
    if (above == high) {
      above = atomicCAS(&component[high], high, low);
      if (above == high || above == low) return;
    }
    a = component[above];
    b = component[low];
  }
}

__global__ void link_neighbour(csr_ref graph, std::uint32_t round, std::uint32_t* component) {
  std::uint64_t const vertex = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (vertex >= graph.vertices) return;
  std::uint64_t const edge = graph.offsets[vertex] + round;
  if (edge < graph.offsets[vertex + 1]) link(static_cast<std::uint32_t>(vertex), graph.targets[edge], component);
}

/// Makes the trees flat.
__global__ void compress(std::uint32_t* component, std::uint32_t vertices) {
  std::uint64_t const vertex = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (vertex >= vertices) return;
  std::uint32_t const first = component[vertex];
  std::uint32_t at = first;
  for (std::uint32_t above = component[at]; above != at; above = component[at]) at = above;
  if (at != first) component[vertex] = at;
}

/// One block: which component is most frequent among a sample, counted in a hash table.
__global__ void __launch_bounds__(samples)
    find_giant(std::uint32_t const* component, std::uint32_t vertices, std::uint32_t* giant) {
  constexpr std::uint32_t slots = 2 * samples;
  constexpr std::uint32_t none = ~0U;
  __shared__ std::uint32_t key[slots];
  __shared__ std::uint32_t count[slots];
  __shared__ unsigned long long best;
  for (std::uint32_t slot = threadIdx.x; slot < slots; slot += samples) {
    key[slot] = none;
    count[slot] = 0;
  }
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  // Multiplicative hashing, Knuth, "The art of computer programming" 3, section 6.4.
  std::uint64_t const random = (threadIdx.x + 1) * 0x9e37'79b9'7f4a'7c15ULL;
  std::uint32_t const mine = component[(random >> 32) * vertices >> 32];
  std::uint32_t const same = __match_any_sync(~0U, mine);
  if (threadIdx.x % 32 + 1 == static_cast<std::uint32_t>(__ffs(static_cast<int>(same)))) {
    std::uint32_t slot = mine * 0x9e37'79b1U % slots;
    for (;; slot = (slot + 1) % slots) {
      std::uint32_t const found = atomicCAS(&key[slot], none, mine);
      if (found == none || found == mine) break;
    }
    atomicAdd(&count[slot], static_cast<unsigned>(__popc(static_cast<int>(same))));
  }
  __syncthreads();
  for (std::uint32_t slot = threadIdx.x; slot < slots; slot += samples) {
    if (count[slot] != 0) atomicMax(&best, static_cast<unsigned long long>(count[slot]) << 32 | key[slot]);
  }
  __syncthreads();
  if (threadIdx.x == 0) *giant = static_cast<std::uint32_t>(best);
}

/// Links by the edges of a row from `skipped` on, for vertices outside the giant component. A thread takes a row of up
/// to 32 edges, a warp a longer one.
__global__ void __launch_bounds__(component_threads)
    link_rest(csr_ref graph, std::uint32_t skipped, std::uint32_t const* giant, std::uint32_t* component) {
  std::uint64_t const vertex = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  if (vertex < graph.vertices && component[vertex] != *giant) {
    begin = graph.offsets[vertex] + skipped;
    end = graph.offsets[vertex + 1];
  }
  bool const wide = end > begin + 32;
  if (!wide) {
    for (std::uint64_t edge = begin; edge < end; ++edge) {
      link(static_cast<std::uint32_t>(vertex), graph.targets[edge], component);
    }
  }
  for (std::uint32_t left = __ballot_sync(~0U, wide); left != 0; left &= left - 1) {
    int const lane = __ffs(static_cast<int>(left)) - 1;
    std::uint64_t const row_vertex = __shfl_sync(~0U, vertex, lane);
    std::uint64_t const row_end = __shfl_sync(~0U, end, lane);
    std::uint64_t const row_begin = __shfl_sync(~0U, begin, lane);
    for (std::uint64_t edge = row_begin + threadIdx.x % 32; edge < row_end; edge += 32) {
      link(static_cast<std::uint32_t>(row_vertex), graph.targets[edge], component);
    }
  }
}

class afforest final : public textbook {
 public:
  explicit afforest(csr const& graph) : out_(graph), component_(graph.vertices()), giant_(1) {
    if (!is_symmetric(graph)) in_.emplace(transpose(graph));
  }

  double run() override {
    return stream_.ms([this] { enqueue(); });
  }

  std::vector<std::uint64_t> result() const override {
    std::vector<std::uint32_t> const components = component_.read();
    return {components.begin(), components.end()};
  }

 private:
  void enqueue() {
    csr_ref const graph = out_.ref();
    unsigned const blocks = blocks_of(graph.vertices, component_threads);
    cudaStream_t const stream = stream_.get();
    std::uint32_t* const component = component_.get();
    begin_apart<<<blocks, component_threads, 0, stream>>>(component, graph.vertices);
    for (std::uint32_t round = 0; round < neighbour_rounds; ++round) {
      link_neighbour<<<blocks, component_threads, 0, stream>>>(graph, round, component);
      compress<<<blocks, component_threads, 0, stream>>>(component, graph.vertices);
    }
    find_giant<<<1, samples, 0, stream>>>(component, graph.vertices, giant_.get());
    link_rest<<<blocks, component_threads, 0, stream>>>(graph, neighbour_rounds, giant_.get(), component);
    if (in_) link_rest<<<blocks, component_threads, 0, stream>>>(in_->ref(), 0, giant_.get(), component);
    compress<<<blocks, component_threads, 0, stream>>>(component, graph.vertices);
    LULL_CUDA(cudaGetLastError());
  }

  device_graph out_;
  std::optional<device_graph> in_;  // none where the graph holds each edge in both directions
  timed_stream stream_;
  device_array<std::uint32_t> component_;  // (vertices,)
  device_array<std::uint32_t> giant_;      // (1,)
};

}  // namespace

std::unique_ptr<textbook> make_afforest(csr const& graph) { return std::make_unique<afforest>(graph); }

}  // namespace lull::bench
