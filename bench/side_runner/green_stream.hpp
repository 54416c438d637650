// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/owned.hpp>

namespace lull::bench {

/// A stream of a green context that has one share of the SMs, as the driver splits them.
class green_stream {
 public:
  /// Throws usage_error where there are no green contexts or fewer SMs, and device_error.
  explicit green_stream(unsigned sms);
  ~green_stream();
  green_stream(green_stream const&) = delete;
  green_stream& operator=(green_stream const&) = delete;

  cudaStream_t get() const noexcept { return stream_.get(); }
  /// The driver rounds up.
  unsigned sms() const noexcept { return sms_; }

 private:
  CUgreenCtx context_ = nullptr;
  cuda_stream stream_;
  unsigned sms_ = 0;
};

}  // namespace lull::bench
