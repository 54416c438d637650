// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// The resources of one kernel launch.
struct kernel_shape {
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;       // a block
  std::uint32_t cluster = 1;       // blocks
  std::uint32_t registers = 0;     // a thread
  std::uint32_t shared_bytes = 0;  // a block, static and dynamic

  friend constexpr bool operator==(kernel_shape const&, kernel_shape const&) = default;
};

/// The resources of one SM.
struct sm_capacity {
  std::uint32_t threads = 0;
  std::uint32_t blocks = 0;
  std::uint32_t registers = 0;
  std::uint32_t shared_bytes = 0;
  std::uint32_t reserved_shared_bytes = 0;  // of each block, by the system
};

/// SMs in a group that can be reserved: the smallest that holds a cluster of eight blocks.
inline constexpr std::uint32_t group_sms = 8;

/// Returns how many blocks of a kernel fit an empty SM. Whole warps get registers, 256 at a time (CUDA occupancy
/// calculator, compute capability 8.0 to 9.0).
constexpr std::uint32_t blocks_an_sm(kernel_shape const& kernel, sm_capacity const& sm) {
  auto const up = [](std::uint32_t value, std::uint32_t unit) { return (value + unit - 1) / unit * unit; };
  std::uint32_t const threads = up(kernel.threads, 32);
  if (threads == 0) throw usage_error{"a kernel without threads needs no room"};
  std::uint32_t fit = sm.threads / threads;
  if (sm.blocks < fit) fit = sm.blocks;
  if (kernel.registers != 0) {
    std::uint32_t const warps = sm.registers / up(kernel.registers * 32, 256) / (threads / 32);
    if (warps < fit) fit = warps;
  }
  std::uint32_t const shared = kernel.shared_bytes + sm.reserved_shared_bytes;
  if (shared != 0 && sm.shared_bytes / shared < fit) fit = sm.shared_bytes / shared;
  return fit;
}

/// Returns how many groups of SMs hold all blocks of one such kernel at once if nothing else runs on them. A cluster
/// lies within one group. Throws usage_error if no cluster of the kernel fits a group.
constexpr int reserved_groups_for(kernel_shape const& kernel, sm_capacity const& sm) {
  std::uint32_t const cluster = kernel.cluster == 0 ? 1 : kernel.cluster;
  std::uint32_t const clusters_a_group = group_sms * blocks_an_sm(kernel, sm) / cluster;
  if (clusters_a_group == 0)
    throw usage_error{"no cluster of this kernel fits a group of 8 SMs: no room can be kept for it"};
  std::uint32_t const clusters = (kernel.blocks + cluster - 1) / cluster;
  return static_cast<int>((clusters + clusters_a_group - 1) / clusters_a_group);
}

/// What a trainer's exchange needs.
struct exchange_need {
  kernel_shape largest{};     // the kernel that needs most groups; of NCCL's kernels, a block is a channel
  std::uint32_t kernels = 0;  // that the exchange launches
  int resident = 1;           // of these, at once
  int reserved_groups = 0;    // for executor_options::reserved groups
  std::string text{};         // one line, for a log
};

/// Returns the groups of SMs that a trainer's exchange needs. Captures `exchange` (the trainer's own sends and
/// receives, on the stream that it is given) into a graph that is never launched, and finds room for `resident` of its
/// largest kernels at once: pass the number of communicators or streams whose kernels overlap. May wait for the device,
/// so call it before training. Exchange something first, so that the transport connects by ordinary calls. If
/// `exchange` is collective, all ranks must call this function. Leaves the calling thread's device as it was. Throws
/// usage_error where there is no CUDA or where a kernel fits no group, device_error, and what `exchange` throws.
exchange_need measure_reserved_groups(int device, std::function<void(stream_handle)> const& exchange, int resident = 1);

}  // namespace lull
