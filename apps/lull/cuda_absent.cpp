// SPDX-License-Identifier: Apache-2.0
// Stands in for cuda_facts.cu in a build without nvcc.
#include <lull/apps/lull/cuda_facts.hpp>

namespace lull {

cuda_facts ask_cuda(int) noexcept { return {}; }
std::string pci_bus_id(int) noexcept { return {}; }

}  // namespace lull
