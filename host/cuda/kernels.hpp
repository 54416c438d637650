// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

#include <lull/device/control.hpp>
#include <lull/device/gate.hpp>

namespace lull::detail {

/// A share that no block exceeds, for the counters of worker blocks on each SM (sm_filter::inside). Added to the
/// counter of a reserved SM, it makes every block exceed its share.
inline constexpr std::uint32_t any_share = 1U << 16;
inline constexpr std::uint32_t kept_off = 1U << 20;
static_assert(any_share < kept_off);

/// Launch the executor's own small kernels. Enqueue only.
void launch_open_edge(cudaStream_t stream, gate_ref gate, std::uint32_t value, std::uint64_t bubble);
/// Makes the stream continue when the gate's blocks have begun to leave, or after `max_ns`.
void launch_await_leaving(cudaStream_t stream, awaited_words* words, std::uint64_t max_ns);
/// Makes worker blocks leave at once that come to an SM of the plan's `kept_off`: they find it full.
void launch_keep_off(cudaStream_t stream, sm_filter const& sms);
void launch_exchange(cudaStream_t stream, slot_line* slot, slot_content const& content, std::uint64_t limit_ns,
                     std::uint64_t* done, std::uint64_t id);

/// Return the kernels of captured edges, as handles: (gate, value), and (gate, value, site, longest wait in ns).
void const* open_captured_edge() noexcept;
void const* close_captured_edge() noexcept;

/// Loads the kernels above, so that no later launch must.
void load_kernels(cudaStream_t stream);

/// Returns which SMs hold a cluster of eight together, as groups of SM ids: launches such clusters on an idle device.
/// Blocks until the device is done; call it at the start only.
std::vector<std::vector<std::uint32_t>> find_cluster_groups(cudaStream_t stream, int processors);

}  // namespace lull::detail
