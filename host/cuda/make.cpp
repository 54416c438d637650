// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/make.hpp>

#include <lull/host/cuda/device_guard.hpp>
#include <lull/host/cuda/executor.hpp>

namespace lull::detail {

std::unique_ptr<executor> make_cuda_executor(executor_options const& options) {
  if (std::string const why = why_no_cuda(options.device); !why.empty()) throw usage_error{why};
  cuda_device_guard const here{options.device};
  return std::make_unique<cuda_executor>(options);
}

}  // namespace lull::detail
