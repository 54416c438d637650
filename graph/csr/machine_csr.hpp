// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/array.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// A graph in a machine's memory, owned. Movable; must go before the machine does. The functions over it take the
/// machine that holds it and give the same results, element for element, as those over a graph in host memory.
struct machine_csr {
  device_array<std::uint64_t> offsets;  // (vertices + 1,) u64, in edges
  device_array<std::uint32_t> targets;  // (edges,) u32
  device_array<float> weights;          // (edges,) f32, or empty

  machine_csr() = default;
  /// A copy of a valid graph. Throws limit_error.
  machine_csr(executor& executor, csr const& graph);

  std::uint32_t vertices() const noexcept {
    return offsets.size() == 0 ? 0 : static_cast<std::uint32_t>(offsets.size() - 1);
  }
  std::uint64_t edges() const noexcept { return targets.size(); }

  /// Valid as long as the owner lives.
  csr_ref ref() const noexcept {
    return {.offsets = offsets.data(),
            .targets = targets.data(),
            .weights = weights.data(),
            .edges = edges(),
            .vertices = vertices()};
  }
};

/// A copy in host memory. Returns when it is done.
csr read(executor& executor, machine_csr const& graph);

/// Runs transpose and degrees over small graphs, so that the kernels inside Thrust and CUB are loaded: code that is
/// loaded later may have to wait for the device to be idle. For start, before training; blocks until it is done. Does
/// nothing on CPU threads.
void load_graph_kernels(executor& executor);

}  // namespace lull
