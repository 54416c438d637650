// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/make.hpp>

#include <lull/host/cuda/executor.hpp>

namespace lull::detail {

std::unique_ptr<executor> make_cuda_executor(executor_options const& options) { return std::make_unique<cuda_executor>(options); }

}  // namespace lull::detail
