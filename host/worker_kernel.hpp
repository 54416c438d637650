// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>

namespace lull {

using any_function = void (*)();

/// The code of a side task for one executor. `threads_worker` and `cuda_worker` make it; CMake's lull_side_task()
/// instantiates them for a task. An empty one means that the task was built without code for that executor.
struct worker_kernel {
  /// The worker: threads: void (*)(worker_params const&, thread_block const&); cuda: the kernel's handle.
  void const* resident = nullptr;
  void const* phase = nullptr;    // one phase as ordinary code, a chunk a block: the baseline
  void const* between = nullptr;  // `advance` of the phase that ended and `extent` of the next, one team
  team_shape shape;
  /// cuda: cudaGetKernel of the CUDA runtime with which the code was linked. A shared library has its own runtime, and
  /// no other runtime knows its kernels. Null: the executor's.
  any_function runtime = nullptr;
  bool conducts = false;  // cuda: it launches a graph's segments, and is launched as a graph itself

  explicit operator bool() const noexcept { return resident != nullptr; }
};

/// The code of one side task for both executors.
struct task_type {
  worker_kernel threads;
  worker_kernel cuda;
};

template <side_task Task>
worker_kernel threads_worker();
template <side_task Task>
worker_kernel cuda_worker();

template <side_task Task>
task_type type_of() {
  return {threads_worker<Task>(), cuda_worker<Task>()};
}

}  // namespace lull
