// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <lull/host/executor.hpp>

namespace lull::detail {

/// Throws usage_error where there is no CUDA in the build, or no device.
std::unique_ptr<executor> make_cuda_executor(executor_options const& options);

}  // namespace lull::detail
