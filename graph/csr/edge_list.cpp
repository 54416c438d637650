// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <bit>
#include <lull/graph/csr/edge_list.hpp>
#include <lull/graph/parallel.hpp>
#include <span>
#include <utility>

namespace lull {
namespace {

// A counting sort by source would touch a random row for every edge: three cache misses each, most of the time a
// loader takes. So the edges are first sorted, part by part, into buckets: runs of sources whose offsets fit in a
// first-level cache and whose rows fit, as a rule, in a second-level one. Then each bucket is counted and filled on
// its own, by one thread, with nothing shared.

class buckets {
 public:
  explicit buckets(std::uint32_t vertices)
      : shift_(std::clamp(static_cast<int>(std::bit_width(vertices - 1)) - max_bits, min_shift, max_shift)),
        count_(((vertices - 1) >> shift_) + 1) {}

  std::uint32_t count() const noexcept { return count_; }
  std::uint32_t bucket_of(std::uint32_t vertex) const noexcept { return vertex >> shift_; }
  std::uint32_t first_vertex(std::uint32_t bucket) const noexcept { return bucket << shift_; }
  std::uint32_t capacity() const noexcept { return 1U << shift_; }

 private:
  static constexpr int max_bits = 9;    // 512 buckets, while they
  static constexpr int min_shift = 12;  // hold at least 4096 vertices: 32 KiB of offsets
  static constexpr int max_shift = 16;  // and their vertices are numbered in 16 bits

  int shift_;
  std::uint32_t count_;
};

/// Some consecutive edges, in the order of their buckets and, within one, of the supply.
struct part {
  std::uint64_t first = 0;           // where its edges begin in bucketed_edges
  host_array<std::uint32_t> begins;  // (buckets + 1,) u32, first edge of each bucket, counted from there
};

/// The edges of all parts, together: arrays that large may be huge pages.
struct bucketed_edges {
  host_array<std::uint16_t> sources;  // (edges,) u16, counted from the bucket's first vertex
  host_array<std::uint32_t> targets;  // (edges,) u32
  host_array<float> weights;          // (edges,) f32, or empty
};

template <mirror Mirrored, bool Weighted, class See>
void visit(edge_list::block const& block, See const& see) {
  for (std::size_t at = 0; at < block.edges.size(); ++at) {
    auto const [source, target] = block.edges[at];
    auto const weight = Weighted ? block.weights[at] : 0.0F;
    see(source, target, weight);
    if constexpr (Mirrored != mirror::none) {
      if (Mirrored == mirror::all || source != target) see(target, source, weight);
    }
  }
}

template <mirror Mirrored, bool Weighted>
void make_part(buckets const& split, std::span<edge_list::block const> blocks, part& made, bucketed_edges& all) {
  made.begins.assign(split.count() + 1ULL, 0);
  auto* const begins = made.begins.data();
  for (auto const& block : blocks) {
    visit<Mirrored, Weighted>(block, [&](auto source, auto, auto) { ++begins[split.bucket_of(source) + 1]; });
  }
  // begins[b + 1] held the size of bucket b; now it holds its beginning, which filling moves to its end: the
  // beginning of bucket b + 1. The same trick makes the offsets below.
  std::uint32_t edges = 0;
  for (std::uint32_t bucket = 0; bucket < split.count(); ++bucket) edges += std::exchange(begins[bucket + 1], edges);
  auto* const sources = all.sources.data() + made.first;
  auto* const targets = all.targets.data() + made.first;
  auto* const weights = all.weights.data() + (Weighted ? made.first : 0);
  for (auto const& block : blocks) {
    visit<Mirrored, Weighted>(block, [&](std::uint32_t source, std::uint32_t target, float weight) {
      auto const bucket = split.bucket_of(source);
      auto const at = begins[bucket + 1]++;
      sources[at] = static_cast<std::uint16_t>(source - split.first_vertex(bucket));
      targets[at] = target;
      if constexpr (Weighted) weights[at] = weight;
    });
  }
}

/// Parts of the supply that make one part here, (parts + 1,) where each begins: enough edges that the table of buckets
/// is small beside them.
std::vector<std::size_t> group(std::vector<std::uint64_t> const& max_edges, buckets const& split) {
  auto const enough = std::max<std::uint64_t>(64UL * 1024, std::uint64_t{split.count()} * 16);
  std::vector<std::size_t> begins{0};
  std::uint64_t edges = 0;
  for (std::size_t at = 0; at < max_edges.size(); ++at) {
    edges += max_edges[at];
    if (edges >= enough || at + 1 == max_edges.size()) {
      begins.push_back(at + 1);
      edges = 0;
    }
  }
  return begins;
}

/// Writes the offsets after the bucket's vertices, and its rows; `begin` is the offset of the first.
void fill_bucket(csr& graph, buckets const& split, std::uint32_t bucket, std::uint64_t begin,
                 std::vector<part> const& parts, bucketed_edges const& all) {
  auto const first = split.first_vertex(bucket);
  auto const vertices = std::min(split.capacity(), graph.vertices() - first);
  auto* const ends = graph.offsets.data() + first + 1;
  std::fill_n(ends, vertices, 0);
  auto const visit_edges = [&](auto const& see) {
    for (auto const& part : parts) {
      auto const end = part.first + part.begins[bucket + 1];
      for (auto at = part.first + part.begins[bucket]; at < end; ++at) see(at);
    }
  };
  visit_edges([ends, sources = all.sources.data()](std::uint64_t at) { ++ends[sources[at]]; });
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) begin += std::exchange(ends[vertex], begin);
  auto* const targets = graph.targets.data();
  auto* const weights = graph.weights.data();
  bool const weighted = !all.weights.empty();
  visit_edges([&](std::uint64_t at) {
    auto const to = ends[all.sources[at]]++;
    targets[to] = all.targets[at];
    if (weighted) weights[to] = all.weights[at];
  });
}

template <mirror Mirrored, bool Weighted>
csr make(edge_supply& supply, std::uint32_t vertices, unsigned threads) {
  buckets const split{vertices};
  auto const groups = group(supply.max_edges, split);
  std::vector<part> parts(groups.size() - 1);
  std::uint64_t max_edges = 0;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    parts[at].first = max_edges;
    for (auto each = groups[at]; each < groups[at + 1]; ++each)
      max_edges += supply.max_edges[each] * (Mirrored == mirror::none ? 1 : 2);
  }
  bucketed_edges all;
  all.sources.resize(max_edges);
  all.targets.resize(max_edges);
  all.weights.resize(Weighted ? max_edges : 0);
  std::atomic<std::size_t> next{0};
  detail::for_each_part(threads, threads, [&](std::size_t) {
    std::vector<edge_list::block> blocks;  // kept for the thread's next part
    for (;;) {
      auto const at = next.fetch_add(1, std::memory_order_relaxed);  // publishes nothing; joining does
      if (at >= parts.size()) return;
      auto const count = groups[at + 1] - groups[at];
      blocks.resize(std::max(blocks.size(), count));
      for (std::size_t each = 0; each < count; ++each) supply.make(groups[at] + each, blocks[each]);
      make_part<Mirrored, Weighted>(split, std::span{blocks}.first(count), parts[at], all);
    }
  });
  supply = {};

  std::vector<std::uint64_t> begins(split.count() + 1ULL, 0);
  for (auto const& part : parts) {
    for (std::uint32_t bucket = 0; bucket < split.count(); ++bucket)
      begins[bucket + 1] += part.begins[bucket + 1] - part.begins[bucket];
  }
  for (std::uint32_t bucket = 0; bucket < split.count(); ++bucket) begins[bucket + 1] += begins[bucket];
  csr graph;
  graph.offsets.resize(std::uint64_t{vertices} + 1);
  graph.offsets[0] = 0;
  graph.targets.resize(begins.back());
  graph.weights.resize(Weighted ? begins.back() : 0);
  detail::for_each_part(split.count(), threads, [&](std::size_t bucket) {
    fill_bucket(graph, split, static_cast<std::uint32_t>(bucket), begins[bucket], parts, all);
  });
  return graph;
}

template <mirror Mirrored>
csr make(edge_supply& supply, std::uint32_t vertices, unsigned threads) {
  return supply.weighted ? make<Mirrored, true>(supply, vertices, threads)
                         : make<Mirrored, false>(supply, vertices, threads);
}

}  // namespace

csr make_csr(edge_supply supply, std::uint32_t vertices, mirror mirrored, unsigned threads) {
  threads = detail::set_up_threads(threads);
  switch (mirrored) {
    case mirror::off_diagonal:
      return make<mirror::off_diagonal>(supply, vertices, threads);
    case mirror::all:
      return make<mirror::all>(supply, vertices, threads);
    case mirror::none:
      break;
  }
  return make<mirror::none>(supply, vertices, threads);
}

csr make_csr(edge_list list, std::uint32_t vertices, mirror mirrored, unsigned threads) {
  edge_supply supply{.weighted = list.weighted};
  for (auto const& block : list.blocks) supply.max_edges.push_back(block.edges.size());
  supply.make = [&list](std::size_t part, edge_list::block& block) { block = std::move(list.blocks[part]); };
  return make_csr(std::move(supply), vertices, mirrored, threads);
}

}  // namespace lull
