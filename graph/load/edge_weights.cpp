// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <lull/graph/csr/edge_ranges.hpp>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/counter_random.hpp>
#include <numeric>
#include <string>
#include <vector>

namespace lull {
namespace {

/// Of a weight from 0 on.
bool is_whole(float weight) noexcept {
  return weight <= static_cast<float>(max_whole_weight) &&
         weight == static_cast<float>(static_cast<std::uint32_t>(weight));
}

[[noreturn]] void refuse(csr const& graph, std::uint64_t edge) {
  throw usage_error("the edge from vertex " + std::to_string(detail::row_of(graph, edge)) + " to " +
                    std::to_string(graph.targets[edge]) + " weighs " + std::to_string(graph.weights[edge]) +
                    ": a weight must be from 0 to 2^96");
}

}  // namespace

weight_kind kind_of_weights(csr const& graph, unsigned threads) {
  std::atomic<bool> all_whole{true};
  detail::for_each_part(detail::edge_parts(graph), detail::set_up_threads(threads), [&](std::size_t part) {
    auto const end = std::min((part + 1) * detail::part_edges, graph.edges());
    bool whole = true;
    for (auto edge = part * detail::part_edges; edge < end; ++edge) {
      float const weight = graph.weights[edge];
      if (!(weight >= 0 && weight <= max_real_weight)) refuse(graph, edge);
      whole = whole && is_whole(weight);
    }
    if (!whole) all_whole = false;
  });
  return all_whole ? weight_kind::whole : weight_kind::real;
}

void draw_weights(csr& graph, std::uint64_t seed, std::uint32_t max, unsigned threads) {
  constexpr std::uint64_t weight_stream = 2;
  counter_random const random{seed, weight_stream};
  graph.weights.resize(graph.targets.size());
  detail::for_each_part(detail::edge_parts(graph), detail::set_up_threads(threads), [&](std::size_t part) {
    detail::visit_part(graph, part, [&](std::uint32_t source, std::uint64_t edge) {
      std::uint64_t const low = std::min(source, graph.targets[edge]);
      std::uint64_t const high = source ^ graph.targets[edge] ^ low;  // std::minmax would branch at random
      std::uint64_t const drawn = random.below(high << 32 | low, max);
      graph.weights[edge] = static_cast<float>(1 + drawn);
    });
  });
}

double near_far_delta(csr const& graph, unsigned threads) {
  std::vector<double> sums(detail::edge_parts(graph));  // added in order: the same on any number of threads
  detail::for_each_part(sums.size(), detail::set_up_threads(threads), [&](std::size_t part) {
    auto const begin = graph.weights.begin() + static_cast<std::ptrdiff_t>(part * detail::part_edges);
    auto const left = graph.weights.end() - begin;
    sums[part] = std::accumulate(begin, begin + std::min(left, std::ptrdiff_t{detail::part_edges}), 0.0);
  });
  double const sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  std::uint64_t leaving = 0;  // vertices that edges leave
  for (std::uint32_t vertex = 0; vertex < graph.vertices(); ++vertex)
    leaving += graph.offsets[vertex] != graph.offsets[vertex + 1ULL] ? 1 : 0;
  auto const edges = static_cast<double>(graph.edges());
  double const delta = 32 * (sum / edges) / (edges / static_cast<double>(leaving));
  return delta > 0 && delta < static_cast<double>(max_real_weight) ? delta : 1;  // not where it is no number
}

}  // namespace lull
