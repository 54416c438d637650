// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/betweenness/sampled_sources.hpp>
#include <lull/host/task/counter_random.hpp>

namespace lull {

std::vector<std::uint32_t> sample_sources(csr const& out, std::uint64_t count, std::uint64_t seed) {
  std::uint64_t left = 0;
  auto const leaves = [&](std::uint32_t vertex) { return out.offsets[vertex] != out.offsets[vertex + 1ULL]; };
  for (std::uint32_t vertex = 0; vertex < out.vertices(); ++vertex) left += leaves(vertex) ? 1 : 0;
  if (left == 0) return {0};
  counter_random const random{seed, 0};
  std::uint64_t wanted = std::min(count, left);
  std::vector<std::uint32_t> drawn;
  drawn.reserve(wanted);
  for (std::uint32_t vertex = 0; wanted != 0; ++vertex) {
    if (!leaves(vertex)) continue;
    if (random.below(vertex, left) < wanted) {  // of those that are left, each is as likely
      drawn.push_back(vertex);
      --wanted;
    }
    --left;
  }
  return drawn;
}

}  // namespace lull
