// SPDX-License-Identifier: Apache-2.0
#include <lull/host/executor.hpp>

#include <lull/host/cuda/make.hpp>
#include <lull/host/threads/executor.hpp>

namespace lull {

std::unique_ptr<executor> make_executor(executor_options const& options) {
  executor_kind const kind =
      options.kind.value_or(why_no_cuda(options.device).empty() ? executor_kind::cuda : executor_kind::threads);
  if (kind == executor_kind::cuda) return detail::make_cuda_executor(options);
  return std::make_unique<threads_executor>(options);
}

}  // namespace lull
