// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <lull/host/executor.hpp>

namespace lull {

/// A side task as ordinary code, for baselines: a kernel a phase, on the executor's own stream. Its calls are enqueue
/// only. Not thread-safe.
class plain_kernels {
 public:
  virtual ~plain_kernels() = default;

  /// Enqueues one phase, a chunk a block. Copies `functor`.
  virtual void phase(functor_bytes const& functor, chunk const& items, std::uint32_t grain) = 0;
  /// Enqueues `advance` for the phase `ended`, if it has a value. After that, the enqueued code stores the task's
  /// extent of phase `next` in the mapped word `extent`, if there is one.
  virtual void between(functor_bytes const& functor, std::optional<position> ended, position next,
                       mapped_memory extent) = 0;
};

/// Loads the code of `kernel`. That may wait until the machine is idle. The executor outlives what is returned. Throws
/// usage_error for a task without code for this machine.
std::unique_ptr<plain_kernels> make_plain_kernels(executor& executor, worker_kernel const& kernel);
std::unique_ptr<plain_kernels> make_cuda_plain_kernels(executor& executor, worker_kernel const& kernel);

}  // namespace lull
