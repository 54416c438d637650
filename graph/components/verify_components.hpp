// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <lull/graph/csr/csr.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

struct components_verdict : verification {
  std::uint64_t components = 0;  // of the graph, as the verifier counts them
};

/// Checks that the label of each vertex is the lowest vertex of its component, edges without a direction, and that the
/// graph has as many components as is said. Finds the components by another way than hooking and flattening all
/// vertices side by side: edge after edge, in sets joined by size. One thread; 8 bytes a vertex.
///
/// Throws usage_error for an invalid graph, and for a number of labels other than that of the vertices.
///
/// Source: Tarjan, van Leeuwen, "Worst-case analysis of set union algorithms", Journal of the ACM 31 (2), 1984 (union
/// by size, path halving).
components_verdict verify_components(csr const& graph, std::span<std::uint32_t const> labels, std::uint64_t components);

}  // namespace lull
