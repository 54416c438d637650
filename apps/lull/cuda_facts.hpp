// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace lull {

/// What CUDA says of itself and of one device. Nothing where it does not answer.
struct cuda_facts {
  bool built = false;                 // this build has the cuda executor
  int runtime_version = 0;            // 13000: 13.0
  std::optional<int> driver_version;  // the newest CUDA that the driver knows
  std::optional<std::string> device_name;
  int capability = 0;  // 90: sm_90
  int processors = 0;
  bool stream_memory_operations = false;
  bool green_contexts = false;
  std::optional<bool> lazy_loading;
};

/// Makes no context where no device answers. Does not throw.
cuda_facts ask_cuda(int device) noexcept;

/// Empty where there is none.
std::string pci_bus_id(int device) noexcept;

}  // namespace lull
