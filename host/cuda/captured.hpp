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

/// A stream's graph while it is being captured, and what the stream's next node would stand behind.
struct captured_graph {
  cudaStream_t stream = nullptr;
  std::uint64_t id = 0;  // 0: it cannot be asked
  CUgraph graph = nullptr;
  std::vector<CUgraphNode> behind;
  std::vector<CUgraphEdgeData> edges;  // as many; how it stands behind each
};

/// Nothing: the stream is not being captured.
std::optional<captured_graph> graph_under_capture(cudaStream_t stream);

/// What a worker's node launches. A null context: the device's own.
struct worker_launch {
  void const* resident = nullptr;
  unsigned blocks = 0;
  team_shape shape;
  CUcontext context = nullptr;
  any_function runtime = nullptr;  // as of worker_kernel
};

/// Beside the stream's chain: what the stream captures next does not stand behind it.
CUgraphNode add_open_edge(captured_graph const& graph, gate_ref gate, std::uint32_t value);
/// In a worker's place, a kernel that does nothing: with something behind the opening edge the driver puts it on a lane
/// of its own, and the closing edge comes 0.4 µs sooner.
void add_nothing(captured_graph const& graph, CUgraphNode opening);
/// Behind the opening edge; nothing stands behind it. In the device's own context it is launched ahead.
void add_worker(captured_graph const& graph, CUgraphNode opening, worker_launch const& how,
                worker_params const& params);
/// In the stream's chain, and behind the opening edge.
void add_close_edge(captured_graph const& graph, gate_ref gate, std::uint32_t value, std::uint32_t site,
                    CUgraphNode opening);
void keep_with(captured_graph const& graph, std::shared_ptr<void const> what);

}  // namespace lull::detail
