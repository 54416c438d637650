// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <vector>

namespace lull {

/// `count` different vertices that an edge leaves, drawn at random, each as likely as any other, in rising order: the
/// same for the same graph, count and seed. All of them where they are fewer; vertex 0 where there is none. The graph
/// must be valid; `count` is at least 1.
///
/// Source: Knuth, "The art of computer programming", volume 2, section 3.4.2 (selection sampling).
std::vector<std::uint32_t> sample_sources(csr const& out, std::uint64_t count, std::uint64_t seed);

}  // namespace lull
