// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr.hpp>

namespace lull {

/// How many edges leave each vertex; (vertices,) u64. The graph must be valid.
host_array<std::uint64_t> out_degrees(csr const& graph, unsigned threads = 0);

/// How many edges enter each vertex; (vertices,) u64. The graph must be valid. A self-loop counts once here and once
/// above.
host_array<std::uint64_t> in_degrees(csr const& graph, unsigned threads = 0);

}  // namespace lull
