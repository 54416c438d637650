// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <lull/device/gate.hpp>
#include <lull/device/slot.hpp>
#include <lull/host/worker_kernel.hpp>

namespace lull::detail {

/// A stream's graph under capture, and the nodes on which the stream's next node depends.
struct captured_graph {
  cudaStream_t stream = nullptr;
  std::uint64_t id = 0;  // 0: unknown
  CUgraph graph = nullptr;
  std::vector<CUgraphNode> behind;
  std::vector<CUgraphEdgeData> edges;  // one for each of these nodes: how the next node depends on it
};

/// Returns nothing if the stream is not under capture.
std::optional<captured_graph> graph_under_capture(cudaStream_t stream);

/// What a worker's node launches. A null context is the device's own.
struct worker_launch {
  void const* resident = nullptr;
  unsigned blocks = 0;
  team_shape shape;
  CUcontext context = nullptr;
  any_function runtime = nullptr;  // as in worker_kernel
};

/// Adds the edge next to the stream's chain: what the stream captures next does not depend on it.
CUgraphNode add_open_edge(captured_graph const& graph, gate_ref gate, std::uint32_t value);
/// Adds an empty kernel in a worker's place. With a node after the opening edge the driver puts the edge on its own
/// lane, and the closing edge comes 0.4 µs sooner.
void add_nothing(captured_graph const& graph, CUgraphNode opening);
/// Adds a worker after the opening edge; no node depends on it. In the device's own context it is launched before the
/// edge ends.
void add_worker(captured_graph const& graph, CUgraphNode opening, worker_launch const& how,
                worker_params const& params);
/// Adds the edge to the stream's chain, after the opening edge.
void add_close_edge(captured_graph const& graph, gate_ref gate, std::uint32_t value, std::uint32_t site,
                    CUgraphNode opening);
void keep_with(captured_graph const& graph, std::shared_ptr<void const> what);

}  // namespace lull::detail
