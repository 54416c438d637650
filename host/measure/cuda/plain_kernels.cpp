// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/plain_kernels.hpp>

#include <cuda_runtime_api.h>

#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/kernel_handle.hpp>

namespace lull {

namespace {

class cuda_plain_kernels final : public plain_kernels {
 public:
  cuda_plain_kernels(executor& executor, worker_kernel const& kernel)
      : stream_(static_cast<cudaStream_t>(executor.own_stream())),
        shape_(kernel.shape),
        phase_(loaded(kernel, kernel.phase)),
        between_(loaded(kernel, kernel.between)) {}

  void phase(functor_bytes const& functor, chunk const& items, std::uint32_t grain) override {
    if (items.size() == 0) return;
    void* arguments[] = {const_cast<functor_bytes*>(&functor), const_cast<chunk*>(&items), &grain};
    launch(phase_, static_cast<unsigned>((items.size() + grain - 1) / grain), arguments);
  }

  void between(functor_bytes const& functor, std::optional<position> ended, position next,
               mapped_memory extent) override {
    bool advances = ended.has_value();
    position last = ended.value_or(position{});
    std::uint64_t* word = static_cast<std::uint64_t*>(extent.device);
    void* arguments[] = {const_cast<functor_bytes*>(&functor), &advances, &last, &next, &word};
    launch(between_, 1, arguments);
  }

 private:
  static void const* loaded(worker_kernel const& kernel, void const* which) {
    void const* const code = detail::launchable(kernel, which);
    detail::prepare_code(code, kernel.shape);
    return code;
  }

  void launch(void const* code, unsigned blocks, void** arguments) {
    LULL_CUDA(cudaLaunchKernel(code, dim3(blocks), dim3(static_cast<unsigned>(shape_.threads)), arguments,
                               shape_.shared_bytes, stream_));
  }

  cudaStream_t const stream_;
  team_shape const shape_;
  void const* const phase_;
  void const* const between_;
};

}  // namespace

std::unique_ptr<plain_kernels> make_cuda_plain_kernels(executor& executor, worker_kernel const& kernel) {
  device_guard const here{executor};
  return std::make_unique<cuda_plain_kernels>(executor, kernel);
}

}  // namespace lull
