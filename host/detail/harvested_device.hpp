// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace lull::detail {

/// One runtime's right to harvest a CUDA device. The blocks on an SM and the reserved SMs are counted for each runtime
/// by itself, so two would take an SM's share twice, and one's workers would stand on the SMs that the other keeps
/// free. Thread-safe. A forked child finds every device free.
class harvested_device {
 public:
  static constexpr std::size_t max_devices = 256;

  /// Throws usage_error while another runtime of this process harvests the device.
  explicit harvested_device(int device);
  ~harvested_device();
  harvested_device(harvested_device const&) = delete;
  harvested_device& operator=(harvested_device const&) = delete;

 private:
  std::size_t const device_;
};

}  // namespace lull::detail
