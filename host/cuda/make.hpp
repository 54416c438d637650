// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <lull/host/executor.hpp>

namespace lull::detail {

/// Throws usage_error if the build has no CUDA, or no device answers.
std::unique_ptr<executor> make_cuda_executor(executor_options const& options);

}  // namespace lull::detail
