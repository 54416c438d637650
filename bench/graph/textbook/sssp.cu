// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/graph/textbook/algorithms.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cuda/std/bit>

#include <lull/bench/graph/textbook/frontier.cuh>
#include <lull/graph/load/edge_weights.hpp>

namespace lull::bench {
namespace {

constexpr std::uint32_t unreached = ~0U;

/// A weight or distance is a word: a whole number, or the bits of a float, which rise as the float does, for none is
/// below zero.
enum class words_of { whole, real };

template <words_of Words>
__host__ __device__ std::uint32_t sum_of(std::uint32_t a, std::uint32_t b) {
  if constexpr (Words == words_of::whole) return a + b;
  return cuda::std::bit_cast<std::uint32_t>(cuda::std::bit_cast<float>(a) + cuda::std::bit_cast<float>(b));
}

struct path_counts {
  frontier_size near[3];  // a kernel reads one, adds to the next and clears the third
  frontier_size far;
  std::uint32_t nearest;  // of what stays in the far pile: the complement of its distance
};

/// Makes distances less. A vertex comes into the near queue once an iteration, and into the far pile once in a run:
/// what is taken out of the pile is nearer than the split from then on. So neither ever holds more than all vertices.
template <words_of Words>
struct relax {
  struct seen {
    std::uint32_t by_edge;
    std::uint32_t before;
  };

  std::uint32_t const* weights;  // (edges,)
  std::uint32_t* distance;       // (vertices,)
  std::uint32_t* queued;         // (vertices,) the iteration that has last put the vertex into the near queue
  std::uint32_t* in_far;         // (vertices,) 1: it has come into the far pile
  std::uint32_t iteration;
  std::uint32_t split;

  __device__ seen load(std::uint32_t source, std::uint64_t edge, std::uint32_t target) const {
    return {sum_of<Words>(distance[source], weights[edge]), distance[target]};
  }
  __device__ goes_to operator()(std::uint32_t target, seen found) const {
    if (found.by_edge >= found.before || atomicMin(&distance[target], found.by_edge) <= found.by_edge) {
      return goes_to::none;
    }
    if (found.by_edge < split) {
      return atomicExch(&queued[target], iteration) != iteration ? goes_to::near : goes_to::none;
    }
    return atomicExch(&in_far[target], 1U) == 0 ? goes_to::far : goes_to::none;
  }
};

/// Finds the lowest vertex that an edge of a shortest path leaves. Vertices at weights of 0 may be each other's.
template <words_of Words>
struct find_parent {
  struct seen {
    std::uint32_t source;
    bool of_a_path;
  };

  std::uint32_t const* weights;   // (edges,)
  std::uint32_t const* distance;  // (vertices,)
  std::uint32_t* parent;          // (vertices,)

  __device__ seen load(std::uint32_t source, std::uint64_t edge, std::uint32_t target) const {
    std::uint32_t const from = distance[source];
    return {source, from != unreached && sum_of<Words>(from, weights[edge]) == distance[target]};
  }
  __device__ goes_to operator()(std::uint32_t target, seen found) const {
    if (found.of_a_path) atomicMin(&parent[target], found.source);
    return goes_to::none;
  }
};

__global__ void begin_at(std::uint32_t source, unsigned long long edges, std::uint32_t* distance, frontier_queue near) {
  distance[source] = 0;
  near.vertex[0] = source;
  *near.size = {edges != 0 ? 1ULL : 0ULL, edges};
}

/// Takes out of the far pile what is near now, and what was near before and is done. The others go to another pile.
__global__ void __launch_bounds__(frontier_threads)
    split_pile(csr_ref graph, std::uint32_t const* pile, std::uint64_t count, std::uint32_t const* distance,
               std::uint32_t before, std::uint32_t split, frontier_queue near, frontier_queue far,
               std::uint32_t* nearest) {
  __shared__ found_vertices found;
  if (threadIdx.x == 0) found.clear();
  __syncthreads();
  unsigned long long edges = 0;
  std::uint32_t least = 0;  // complement
  for (std::uint32_t i = threadIdx.x; i < frontier_tile; i += frontier_threads) {
    std::uint64_t const at = std::uint64_t{blockIdx.x} * frontier_tile + i;
    if (at >= count) continue;
    std::uint32_t const vertex = pile[at];
    std::uint32_t const now = distance[vertex];
    if (now < split) {
      if (now >= before) found.add(graph, vertex, goes_to::near, edges);
    } else {
      least = max(least, ~now);
      found.add(graph, vertex, goes_to::far, edges);
    }
  }
  least = __reduce_max_sync(~0U, least);
  if (threadIdx.x % 32 == 0 && least != 0) atomicMax(nearest, least);
  __syncthreads();
  found.append(near, far, edges);
}

template <words_of Words>
class near_far final : public textbook {
 public:
  near_far(csr const& graph, std::vector<std::uint32_t> const& weights, std::uint32_t source, std::uint32_t delta,
           sssp_results results)
      : graph_(graph),
        results_(results),
        all_(vertices_with_edges(graph)),
        weights_(std::span<std::uint32_t const>{weights}),
        source_(source),
        edges_(graph.offsets[source + 1ULL] - graph.offsets[source]),
        delta_(delta),
        distance_(vertices()),
        queued_(vertices()),
        in_far_(vertices()),
        queues_{device_array<std::uint32_t>{vertices()}, device_array<std::uint32_t>{vertices()}},
        piles_{device_array<std::uint32_t>{vertices()}, device_array<std::uint32_t>{vertices()}},
        sources_(std::span<std::uint32_t const>{all_}),
        parent_(vertices()),
        expander_(graph_.ref(), static_cast<relax<Words> const*>(nullptr)) {}

  double run() override {
    return stream_.ms([this] {
      begin();
      for (;;) {
        while (near_.vertices != 0) relax_near();
        if (far_ == 0) break;
        move_split();
      }
      if (results_ == sssp_results::parents) find_parents();
    });
  }

  std::vector<std::uint64_t> result() const override {
    std::vector<std::uint32_t> const distance = distance_.read();
    if (results_ == sssp_results::parents) check_parents(distance);
    return {distance.begin(), distance.end()};
  }

 private:
  static std::vector<std::uint32_t> vertices_with_edges(csr const& graph) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t vertex = 0; vertex < graph.vertices(); ++vertex) {
      if (graph.offsets[vertex] != graph.offsets[vertex + 1ULL]) found.push_back(vertex);
    }
    return found;
  }

  std::uint32_t vertices() const { return graph_.ref().vertices; }
  std::uint32_t iteration() const { return step_ + 1; }

  frontier_queue near() const { return {queues_[step_ % 2].get(), &counts_.device()->near[step_ % 3]}; }
  frontier_queue next() const { return {queues_[(step_ + 1) % 2].get(), &counts_.device()->near[(step_ + 1) % 3]}; }
  frontier_size* cleared() const { return &counts_.device()->near[(step_ + 2) % 3]; }
  frontier_queue far() const { return {piles_[0].get(), &counts_.device()->far}; }

  void begin() {
    cudaStream_t const stream = stream_.get();
    step_ = 0;
    split_ = delta_;
    near_ = {edges_ != 0 ? 1ULL : 0ULL, edges_};
    far_ = 0;
    counts_.clear(stream);
    LULL_CUDA(cudaMemsetAsync(queued_.get(), 0, queued_.bytes(), stream));
    LULL_CUDA(cudaMemsetAsync(in_far_.get(), 0, in_far_.bytes(), stream));
    LULL_CUDA(cudaMemsetAsync(distance_.get(), 0xff, distance_.bytes(), stream));
    begin_at<<<1, 1, 0, stream>>>(source_, edges_, distance_.get(), near());
    LULL_CUDA(cudaGetLastError());
  }

  void relax_near() {
    relax<Words> const visit{weights_.get(), distance_.get(), queued_.get(), in_far_.get(), iteration(), split_};
    expander_.run(stream_.get(), near(), near_, visit, next(), far(), cleared());
    step_ += 1;
    read();
  }

  void find_parents() {
    if (all_.empty()) return;
    cudaStream_t const stream = stream_.get();
    LULL_CUDA(cudaMemsetAsync(parent_.get(), 0xff, parent_.bytes(), stream));
    frontier_size const size{all_.size(), graph_.ref().edges};
    counts_.clear(stream);
    LULL_CUDA(cudaMemcpyAsync(near().size, &size, sizeof size, cudaMemcpyHostToDevice, stream));
    find_parent<Words> const visit{weights_.get(), distance_.get(), parent_.get()};
    expander_.run(stream, {sources_.get(), near().size}, size, visit, next(), far(), cleared());
  }

  /// That each reached vertex has one.
  void check_parents(std::vector<std::uint32_t> const& distance) const {
    std::vector<std::uint32_t> const parent = parent_.read();
    for (std::uint32_t vertex = 0; vertex < parent.size(); ++vertex) {
      bool const is_reached = distance[vertex] != unreached && vertex != source_;
      if (is_reached && parent[vertex] == unreached) {
        throw std::runtime_error{"textbook: vertex " + std::to_string(vertex) + " is reached, but has no parent"};
      }
    }
  }

  /// The near queue is empty. Where nothing is near the next split either, goes on to what is nearest.
  void move_split() {
    std::uint32_t before = split_;
    split_ = sum_of<Words>(split_, delta_);
    for (split(before); near_.vertices == 0 && far_ != 0; split(before)) {
      before = split_;
      split_ = std::max(sum_of<Words>(nearest_, delta_), nearest_ + 1);  // as a float, delta may be too small to count
    }
  }

  void split(std::uint32_t before) {
    cudaStream_t const stream = stream_.get();
    std::uint64_t const count = far_;
    std::swap(piles_[0], piles_[1]);
    LULL_CUDA(cudaMemsetAsync(&counts_.device()->far, 0, sizeof(path_counts) - offsetof(path_counts, far), stream));
    split_pile<<<blocks_of(count, frontier_tile), frontier_threads, 0, stream>>>(
        graph_.ref(), piles_[1].get(), count, distance_.get(), before, split_, near(), far(),
        &counts_.device()->nearest);
    LULL_CUDA(cudaGetLastError());
    read();
  }

  /// The host waits for the sizes.
  void read() {
    path_counts const& now = counts_.read(stream_.get());
    near_ = now.near[step_ % 3];
    far_ = now.far.vertices;
    nearest_ = ~now.nearest;
  }

  device_graph graph_;
  sssp_results results_;
  std::vector<std::uint32_t> all_;       // vertices with edges
  device_array<std::uint32_t> weights_;  // (edges,)
  std::uint32_t source_;
  std::uint64_t edges_;  // that leave it
  std::uint32_t delta_;
  timed_stream stream_;
  device_array<std::uint32_t> distance_;   // (vertices,)
  device_array<std::uint32_t> queued_;     // (vertices,)
  device_array<std::uint32_t> in_far_;     // (vertices,)
  device_array<std::uint32_t> queues_[2];  // (vertices,) near
  device_array<std::uint32_t> piles_[2];   // (vertices,) the first one is in use
  device_array<std::uint32_t> sources_;    // `all_`
  device_array<std::uint32_t> parent_;     // (vertices,)
  host_read_counts<path_counts> counts_;
  expander expander_;
  std::uint32_t step_ = 0;   // near queues so far
  std::uint32_t split_ = 0;  // near is what is less
  frontier_size near_{};
  std::uint64_t far_ = 0;
  std::uint32_t nearest_ = 0;  // of the far pile, when it was last split
};

}  // namespace

std::unique_ptr<textbook> make_near_far_sssp(csr const& graph, std::uint32_t source, double delta,
                                             sssp_results results) {
  std::vector<std::uint32_t> words(graph.edges());
  if (kind_of_weights(graph) == weight_kind::whole) {
    std::copy(graph.weights.begin(), graph.weights.end(), words.begin());
    auto const whole = static_cast<std::uint32_t>(std::clamp(std::ceil(delta), 1.0, 0x1p31));
    return std::make_unique<near_far<words_of::whole>>(graph, words, source, whole, results);
  }
  std::transform(graph.weights.begin(), graph.weights.end(), words.begin(), [](float weight) {
    return std::bit_cast<std::uint32_t>(weight + 0.0F);
  });  // of zeros the positive one
  auto const real = std::bit_cast<std::uint32_t>(static_cast<float>(delta));
  return std::make_unique<near_far<words_of::real>>(graph, words, source, real, results);
}

}  // namespace lull::bench
