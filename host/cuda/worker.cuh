// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/cuda_world.cuh>
#include <lull/device/worker.hpp>
#include <lull/host/cuda/block.cuh>
#include <lull/host/worker_kernel.hpp>

namespace lull {

namespace detail {

template <class Task>
using block_of = cuda_block<Task::shape.threads>;

template <class Task>
__global__ void __launch_bounds__(Task::shape.threads, Task::shape.blocks_per_sm)
    resident_kernel(__grid_constant__ worker_params const params) {
  if (params.slot == nullptr) return;
  worker<cuda_world, Task, block_of<Task>>{params, block_of<Task>{}}.run();
}

/// A team for ordinary code, which never leaves.
template <class Task>
__device__ auto undisturbed(block_of<Task> const& block, exit_check<cuda_world> const& nowhere) {
  if constexpr (Task::shape.claims == claiming::by_task) {
    return streaming_team<cuda_world, block_of<Task>>{block, exit_words{}, nullptr, nullptr};
  } else {
    team<cuda_world, block_of<Task>> members{block, exit_words{}, nowhere, nullptr};
    members.begin_chunk(true);
    return members;
  }
}

/// One phase as an ordinary kernel, a chunk a block.
template <class Task>
__global__ void __launch_bounds__(Task::shape.threads, Task::shape.blocks_per_sm)
    phase_kernel(__grid_constant__ functor_bytes const functor, chunk items, std::uint32_t grain) {
  block_of<Task> const block;
  exit_check<cuda_world> const nowhere;
  std::uint64_t const begin = items.begin + std::uint64_t{blockIdx.x} * grain;
  if (begin >= items.end) return;
  std::uint64_t const end = begin + grain < items.end ? begin + grain : items.end;
  (*reinterpret_cast<Task const*>(functor.bytes))({items.at, begin, end}, undisturbed<Task>(block, nowhere));
}

/// Runs between two ordinary phases, in one block. `extent` is mapped memory; null: not asked for.
template <class Task>
__global__ void __launch_bounds__(Task::shape.threads)
    between_kernel(__grid_constant__ functor_bytes const functor, bool advances, position ended, position next,
                   std::uint64_t* extent) {
  Task const& task = *reinterpret_cast<Task const*>(functor.bytes);
  if constexpr (has_advance<Task>) {
    block_of<Task> const block;
    exit_check<cuda_world> const nowhere;
    if (advances) task.advance(ended, undisturbed<Task>(block, nowhere));
    block.sync();
  }
  if (threadIdx.x == 0 && extent != nullptr)
    cuda_world::store<order::release, scope::system>(*extent, task.extent(next, 0));
}

}  // namespace detail

/// lull_side_task() instantiates it in a .cu.
template <side_task Task>
worker_kernel cuda_worker() {
  return {.resident = reinterpret_cast<void const*>(&detail::resident_kernel<Task>),
          .phase = reinterpret_cast<void const*>(&detail::phase_kernel<Task>),
          .between = reinterpret_cast<void const*>(&detail::between_kernel<Task>),
          .shape = Task::shape,
          .runtime =
              reinterpret_cast<any_function>(static_cast<cudaError_t (*)(cudaKernel_t*, void const*)>(&cudaGetKernel))};
}

}  // namespace lull
