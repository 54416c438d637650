// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/csr/machine_csr.hpp>
#include <span>

namespace lull {

/// How many edges leave each vertex; (vertices,) u64. The graph must be valid.
host_array<std::uint64_t> out_degrees(csr const& graph, unsigned threads = 0);

/// How many edges enter each vertex; (vertices,) u64. The graph must be valid. A self-loop counts once here and once
/// above.
host_array<std::uint64_t> in_degrees(csr const& graph, unsigned threads = 0);

/// The same on the machine that holds the graph; stream, waiting and errors as for transpose there. Takes the memory of
/// the result and, on a GPU, nothing besides.
device_array<std::uint64_t> out_degrees(executor& executor, machine_csr const& graph, stream_handle stream = nullptr);
device_array<std::uint64_t> in_degrees(executor& executor, machine_csr const& graph, stream_handle stream = nullptr);

/// The places of fewer than 2³² degrees by falling degree, equal ones by rising place; (degrees,) u32. Does not look at
/// a graph. Throws std::bad_alloc.
host_array<std::uint32_t> by_falling_degree(std::span<std::uint64_t const> degrees);
host_array<std::uint32_t> by_falling_degree(std::span<std::uint32_t const> degrees);

}  // namespace lull
