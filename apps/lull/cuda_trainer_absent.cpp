// SPDX-License-Identifier: Apache-2.0
// Stands in for cuda_trainer.cu in a build without nvcc.
#include <lull/apps/lull/trainer.hpp>
#include <lull/host/error.hpp>

namespace lull {

std::unique_ptr<stage_trainer> make_cuda_trainer(int device, std::chrono::nanoseconds) {
  throw usage_error{why_no_cuda(device)};
}

}  // namespace lull
