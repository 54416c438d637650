// SPDX-License-Identifier: Apache-2.0
// Stands in for cuda_facts.cu and cuda_trainer.cu in a build without nvcc.
#include <lull/apps/lull/cuda_facts.hpp>
#include <lull/apps/lull/trainer.hpp>
#include <lull/host/error.hpp>

namespace lull {

cuda_facts ask_cuda(int) noexcept { return {}; }
std::string pci_bus_id(int) noexcept { return {}; }
std::unique_ptr<stage_trainer> make_cuda_trainer(int device, std::chrono::nanoseconds) {
  throw usage_error{why_no_cuda(device)};
}

}  // namespace lull
