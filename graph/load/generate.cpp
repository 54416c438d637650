// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/csr/edge_list.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/counter_random.hpp>
#include <new>
#include <string>
#include <utility>

namespace lull {
namespace {

constexpr unsigned max_scale = 28;  // edges of both directions at the usual factor: 2³³, 34 GB
constexpr unsigned max_edge_factor = 256;
constexpr std::uint32_t max_side = 16384;
constexpr std::uint64_t max_edges = 1ULL << 33;
constexpr std::uint64_t block_edges = 1ULL << 16;

constexpr std::uint64_t edge_stream = 0;
constexpr std::uint64_t vertex_stream = 1;

void check(generate_options const& options) {
  auto const refuse = [](std::string const& message) { throw usage_error("generating a graph: " + message); };
  if (options.scale < 1 || options.scale > max_scale)
    refuse("scale " + std::to_string(options.scale) + " is outside 1 to " + std::to_string(max_scale));
  if (options.edge_factor < 1 || options.edge_factor > max_edge_factor)
    refuse("edge factor " + std::to_string(options.edge_factor) + " is outside 1 to " +
           std::to_string(max_edge_factor));
  auto const edges = (2ULL * options.edge_factor) << options.scale;
  if (edges > max_edges)
    refuse(std::to_string(edges) + " edges, but at most " + std::to_string(max_edges) + " are made");
}

/// A permutation of the vertices, each as likely as any other (Fisher and Yates).
host_array<std::uint32_t> shuffled_vertices(std::uint32_t vertices, std::uint64_t seed) {
  counter_random const random{seed, vertex_stream};
  host_array<std::uint32_t> order(vertices);
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    auto const other = random.below(vertex, vertex + 1ULL);
    order[vertex] = order[other];
    order[other] = vertex;
  }
  return order;
}

/// The quadrants of one recursion step, as bounds of a 32-bit random number.
constexpr std::uint32_t of_32_bits(double share) { return static_cast<std::uint32_t>(share * 4294967296.0); }
constexpr std::uint32_t end_a = of_32_bits(0.57);
constexpr std::uint32_t end_b = of_32_bits(0.57 + 0.19);
constexpr std::uint32_t end_c = of_32_bits(0.57 + 0.19 + 0.19);

void descend(std::uint32_t random, edge& at) noexcept {
  auto const lower = static_cast<std::uint32_t>(random >= end_b);
  auto const right = static_cast<std::uint32_t>(random >= end_a + lower * (end_c - end_a));  // no branch to mispredict
  at = {at.source * 2 + lower, at.target * 2 + right};
}

edge kronecker_edge(counter_random const& random, std::uint64_t index, unsigned scale) noexcept {
  auto const draws = (scale + 1) / 2;  // each serves two levels
  edge made{0, 0};
  for (unsigned draw = 0; draw < draws; ++draw) {
    auto const bits = random.at(index * draws + draw);
    descend(static_cast<std::uint32_t>(bits >> 32), made);
    if (2 * draw + 1 < scale) descend(static_cast<std::uint32_t>(bits), made);
  }
  return made;
}

edge uniform_edge(counter_random const& random, std::uint64_t index, unsigned scale) noexcept {
  auto const bits = random.at(index);
  return {static_cast<std::uint32_t>(bits >> (64 - scale)), static_cast<std::uint32_t>(bits) >> (32 - scale)};
}

/// The symmetrised graph of the edges that make(index) gives; `renumber` is applied to each block of them.
template <class Make, class Renumber>
csr generate(generate_options const& options, Make const& make, Renumber const& renumber) {
  auto const edges = std::uint64_t{options.edge_factor} << options.scale;
  edge_supply supply;
  for (std::uint64_t begin = 0; begin < edges; begin += block_edges)
    supply.max_edges.push_back(std::min(block_edges, edges - begin));
  supply.make = [&](std::size_t part, edge_list::block& block) {
    auto const begin = part * block_edges;
    block.edges.resize(std::min(block_edges, edges - begin));
    for (std::uint64_t at = 0; at < block.edges.size(); ++at) block.edges[at] = make(begin + at);
    renumber(block.edges);
  };
  return make_csr(std::move(supply), 1U << options.scale, mirror::all, options.threads);
}

template <class Work>
csr within_memory(std::string const& size, Work const& work) {
  try {
    return work();
  } catch (std::bad_alloc const&) {
    throw limit_error("generating a graph: not enough memory for " + size);
  }
}

template <class Work>
csr within_limits(generate_options const& options, Work const& work) {
  check(options);
  return within_memory("scale " + std::to_string(options.scale), work);
}

}  // namespace

csr generate_kronecker(generate_options const& options) {
  return within_limits(options, [&] {
    auto const order = shuffled_vertices(1U << options.scale, options.seed);
    counter_random const random{options.seed, edge_stream};
    return generate(
        options, [&](std::uint64_t index) { return kronecker_edge(random, index, options.scale); },
        [&](host_array<edge>& block) {
          for (auto& [source, target] : block) {  // a loop of its own, so that many cache misses are under way at once
            source = order[source];
            target = order[target];
          }
        });
  });
}

csr generate_uniform(generate_options const& options) {
  return within_limits(options, [&] {
    counter_random const random{options.seed, edge_stream};
    return generate(
        options, [&](std::uint64_t index) { return uniform_edge(random, index, options.scale); },
        [](host_array<edge>&) {});
  });
}

csr generate_grid(std::uint32_t side, unsigned threads) {
  if (side < 2 || side > max_side)
    throw usage_error("generating a graph: a side of " + std::to_string(side) + " vertices is outside 2 to " +
                      std::to_string(max_side));
  return within_memory("a side of " + std::to_string(side) + " vertices", [&] {
    csr made;
    made.offsets.resize(std::size_t{side} * side + 1);
    made.targets.resize(std::size_t{4} * side * (side - 1));
    made.offsets.back() = made.targets.size();
    detail::for_each_part(side, detail::set_up_threads(threads), [&](std::size_t part) {
      auto const row = static_cast<std::uint32_t>(part);
      std::uint64_t const joined = row == 0 ? 0 : 2 * std::uint64_t{row} - 1;  // to other rows, by each row before
      std::uint64_t edge = 2 * std::uint64_t{side - 1} * row + side * joined;
      for (std::uint32_t column = 0; column < side; ++column) {
        std::uint32_t const vertex = row * side + column;
        made.offsets[vertex] = edge;
        if (row != 0) made.targets[edge++] = vertex - side;
        if (column != 0) made.targets[edge++] = vertex - 1;
        if (column + 1 != side) made.targets[edge++] = vertex + 1;
        if (row + 1 != side) made.targets[edge++] = vertex + side;
      }
    });
    return made;
  });
}

}  // namespace lull
