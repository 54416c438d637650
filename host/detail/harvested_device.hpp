// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace lull::detail {

/// One runtime's right to harvest a CUDA device. Each runtime counts the blocks on an SM and the reserved SMs for
/// itself. So two runtimes would take an SM's share twice, and the workers of one would use the SMs that the other
/// keeps free. Thread-safe. A forked child finds every device free.
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
