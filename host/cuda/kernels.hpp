// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

#include <lull/device/control.hpp>
#include <lull/device/gate.hpp>

namespace lull::detail {

/// Of the counters of worker blocks on each SM (sm_filter::inside): a share that no block is over by itself, and what
/// is added where an SM is kept off, so that every block is over its share.
inline constexpr std::uint32_t any_share = 1U << 16;
inline constexpr std::uint32_t kept_off = 1U << 20;
static_assert(any_share < kept_off);

/// The executor's own small kernels, launched. Enqueue only.
void launch_open_edge(cudaStream_t stream, gate_ref gate, std::uint32_t value, std::uint64_t bubble);
void launch_close_edge(cudaStream_t stream, gate_line* line, std::uint32_t value);
/// The stream goes on when the gate's blocks have begun to leave, or after `max_ns`.
void launch_await_leaving(cudaStream_t stream, gate_line* line, std::uint64_t max_ns);
/// Worker blocks that come to an SM of the plan's `kept_off` leave at once from now on: they find it full.
void launch_keep_off(cudaStream_t stream, sm_filter const& sms);
void launch_exchange(cudaStream_t stream, slot_line* slot, slot_content const& content, std::uint64_t limit_ns,
                     std::uint64_t* done, std::uint64_t id);

/// Those of a captured graph, as handles: (gate, value), and (gate, value, site, how long to wait at most; ns).
void const* open_captured_edge() noexcept;
void const* close_captured_edge() noexcept;

/// Loads the kernels above, so that no later launch has to.
void load_kernels(cudaStream_t stream);

/// Which SMs hold a cluster of eight together: groups of SM ids, found by launching such clusters on an idle device.
/// Blocks until the device is done; for start only.
std::vector<std::vector<std::uint32_t>> find_cluster_groups(cudaStream_t stream, int processors);

}  // namespace lull::detail
