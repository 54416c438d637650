// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <lull/graph/csr/csr.hpp>

namespace lull::test {

/// Betweenness from some sources, one vertex after the other. Source: Brandes, "A faster algorithm for betweenness
/// centrality", Journal of Mathematical Sociology 25, 2001, algorithm 1.
inline std::vector<double> brandes(csr const& out, std::span<std::uint32_t const> sources) {
  constexpr std::uint32_t unreached = std::numeric_limits<std::uint32_t>::max();
  std::vector<double> total(out.vertices());
  auto const row = [&](std::uint32_t vertex) {
    return std::span{out.targets}.subspan(out.offsets[vertex], out.offsets[vertex + 1ULL] - out.offsets[vertex]);
  };
  for (std::uint32_t const source : sources) {
    std::vector<std::uint32_t> depth(out.vertices(), unreached);
    std::vector<double> paths(out.vertices());
    std::vector<double> dependent(out.vertices());
    std::vector<std::uint32_t> order{source};
    depth[source] = 0;
    paths[source] = 1;
    for (std::size_t next = 0; next < order.size(); ++next) {
      std::uint32_t const from = order[next];
      for (std::uint32_t const to : row(from)) {
        if (depth[to] == unreached) {
          depth[to] = depth[from] + 1;
          order.push_back(to);
        }
        if (depth[to] == depth[from] + 1) paths[to] += paths[from];
      }
    }
    for (std::size_t at = order.size(); at-- > 1;) {
      std::uint32_t const from = order[at];
      for (std::uint32_t const to : row(from)) {
        if (depth[to] == depth[from] + 1) dependent[from] += paths[from] / paths[to] * (1 + dependent[to]);
      }
      total[from] += dependent[from];
    }
  }
  return total;
}

}  // namespace lull::test
