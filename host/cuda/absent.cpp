// SPDX-License-Identifier: Apache-2.0
// Stands in for the CUDA executor in a build without nvcc.
#include <lull/host/cuda/make.hpp>
#include <lull/host/cuda/nvtx.hpp>
#include <lull/host/cuda/pool_memory.hpp>
#include <lull/host/error.hpp>
#include <lull/host/reserved_sms.hpp>
#include <lull/host/tensor_map.hpp>

namespace lull {

std::string why_no_cuda(int) { return "this build of Lull has no CUDA: it was configured where nvcc was not found"; }

std::unique_ptr<executor> detail::make_cuda_executor(executor_options const&) { throw usage_error{why_no_cuda(0)}; }

exchange_need measure_reserved_groups(int device, std::function<void(stream_handle)> const&, int) {
  throw usage_error{why_no_cuda(device)};
}

tensor_map map_of_boxes(void const*, tensor_shape const&, std::uint32_t) { throw usage_error{why_no_cuda(0)}; }

void* allocate_for_pool(int, std::size_t) noexcept { return nullptr; }
void release_from_pool(void*, int) noexcept {}

std::uint64_t detail::begin_range(char const*) noexcept { return 0; }
void detail::end_range(std::uint64_t) noexcept {}

}  // namespace lull
