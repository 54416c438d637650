// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <lull/graph/edge_list.hpp>
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

/// Some consecutive edges of the list, in the order of their buckets and, within one, of the list.
struct part {
  host_array<std::uint32_t> begins;   // (buckets + 1,) u32, first edge of each bucket
  host_array<std::uint16_t> sources;  // (part edges,) u16, counted from the bucket's first vertex
  host_array<std::uint32_t> targets;  // (part edges,) u32
  host_array<float> weights;          // (part edges,) f32, or empty
};

template <mirror Mirrored, bool Weighted, class See>
void visit(edge_list::block const& block, See const& see) {
  for (std::size_t at = 0; at < block.edges.size(); ++at) {
    auto const [source, target] = block.edges[at];
    auto const weight = Weighted ? block.weights[at] : 0.0F;
    see(source, target, weight);
    if constexpr (Mirrored != mirror::none) {
      if (Mirrored == mirror::all || source != target) {
        see(target, source, weight);
      }
    }
  }
}

template <mirror Mirrored, bool Weighted>
part make_part(buckets const& split, std::span<edge_list::block const> blocks) {
  part made;
  made.begins.assign(split.count() + 1ULL, 0);
  auto* const begins = made.begins.data();
  for (auto const& block : blocks) {
    visit<Mirrored, Weighted>(block, [&](auto source, auto, auto) { ++begins[split.bucket_of(source) + 1]; });
  }
  // begins[b + 1] held the size of bucket b; now it holds its beginning, which filling moves to its end: the
  // beginning of bucket b + 1. The same trick makes the offsets below.
  std::uint32_t edges = 0;
  for (std::uint32_t bucket = 0; bucket < split.count(); ++bucket) {
    edges += std::exchange(begins[bucket + 1], edges);
  }
  made.sources.resize(edges);
  made.targets.resize(edges);
  made.weights.resize(Weighted ? edges : 0);
  auto* const sources = made.sources.data();
  auto* const targets = made.targets.data();
  auto* const weights = made.weights.data();
  for (auto const& block : blocks) {
    visit<Mirrored, Weighted>(block, [&](std::uint32_t source, std::uint32_t target, float weight) {
      auto const bucket = split.bucket_of(source);
      auto const at = begins[bucket + 1]++;
      sources[at] = static_cast<std::uint16_t>(source - split.first_vertex(bucket));
      targets[at] = target;
      if constexpr (Weighted) {
        weights[at] = weight;
      }
    });
  }
  return made;
}

/// Consecutive blocks that make one part: enough edges that the table of buckets is small beside them.
std::vector<std::span<edge_list::block>> group(std::vector<edge_list::block>& blocks, buckets const& split) {
  auto const enough = std::max<std::uint64_t>(64UL * 1024, std::uint64_t{split.count()} * 16);
  std::vector<std::span<edge_list::block>> groups;
  std::size_t begin = 0;
  std::uint64_t edges = 0;
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    edges += blocks[at].edges.size();
    if (edges >= enough || at + 1 == blocks.size()) {
      groups.emplace_back(blocks.data() + begin, at + 1 - begin);
      begin = at + 1;
      edges = 0;
    }
  }
  return groups;
}

/// Writes the offsets behind the bucket's vertices, and its rows; `begin` is the offset of the first.
void fill_bucket(csr& graph, buckets const& split, std::uint32_t bucket, std::uint64_t begin,
                 std::vector<part> const& parts) {
  auto const first = split.first_vertex(bucket);
  auto const vertices = std::min(split.capacity(), graph.vertices() - first);
  auto* const ends = graph.offsets.data() + first + 1;
  std::fill_n(ends, vertices, 0);
  for (auto const& part : parts) {
    for (auto at = part.begins[bucket]; at < part.begins[bucket + 1]; ++at) {
      ++ends[part.sources[at]];
    }
  }
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    begin += std::exchange(ends[vertex], begin);
  }
  auto* const targets = graph.targets.data();
  auto* const weights = graph.weights.data();
  for (auto const& part : parts) {
    for (auto at = part.begins[bucket]; at < part.begins[bucket + 1]; ++at) {
      auto const to = ends[part.sources[at]]++;
      targets[to] = part.targets[at];
      if (!part.weights.empty()) {
        weights[to] = part.weights[at];
      }
    }
  }
}

template <mirror Mirrored, bool Weighted>
csr make(edge_list& list, std::uint32_t vertices, unsigned threads) {
  buckets const split{vertices};
  auto const groups = group(list.blocks, split);
  std::vector<part> parts(groups.size());
  detail::for_each_part(groups.size(), threads, [&](std::size_t at) {
    parts[at] = make_part<Mirrored, Weighted>(split, groups[at]);
    for (auto& block : groups[at]) {
      block = edge_list::block{};  // by move: the memory goes back
    }
  });

  std::vector<std::uint64_t> begins(split.count() + 1ULL, 0);
  for (auto const& part : parts) {
    for (std::uint32_t bucket = 0; bucket < split.count(); ++bucket) {
      begins[bucket + 1] += part.begins[bucket + 1] - part.begins[bucket];
    }
  }
  for (std::uint32_t bucket = 0; bucket < split.count(); ++bucket) {
    begins[bucket + 1] += begins[bucket];
  }
  csr graph;
  graph.offsets.resize(std::uint64_t{vertices} + 1);
  graph.offsets[0] = 0;
  graph.targets.resize(begins.back());
  graph.weights.resize(Weighted ? begins.back() : 0);
  detail::for_each_part(split.count(), threads, [&](std::size_t bucket) {
    fill_bucket(graph, split, static_cast<std::uint32_t>(bucket), begins[bucket], parts);
  });
  return graph;
}

template <mirror Mirrored>
csr make(edge_list& list, std::uint32_t vertices, unsigned threads) {
  return list.weighted ? make<Mirrored, true>(list, vertices, threads) : make<Mirrored, false>(list, vertices, threads);
}

}  // namespace

csr make_csr(edge_list list, std::uint32_t vertices, mirror mirrored, unsigned threads) {
  threads = detail::set_up_threads(threads);
  switch (mirrored) {
    case mirror::off_diagonal:
      return make<mirror::off_diagonal>(list, vertices, threads);
    case mirror::all:
      return make<mirror::all>(list, vertices, threads);
    case mirror::none:
      break;
  }
  return make<mirror::none>(list, vertices, threads);
}

}  // namespace lull
