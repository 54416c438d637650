// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/owned.hpp>

namespace lull {

/// A green context that has one share of the current device's SMs, as the driver splits them.
class green_context {
 public:
  /// Throws usage_error where there are no green contexts or fewer SMs, and device_error.
  explicit green_context(unsigned sms);

  /// A stream of the lowest priority, which must not live longer than the context. Throws device_error.
  cuda_stream make_stream() const;
  /// The driver rounds up.
  unsigned sms() const noexcept { return sms_; }

 private:
  struct destroy {
    void operator()(CUgreenCtx made) const noexcept { driver().destroy_green(made); }
  };

  std::unique_ptr<std::remove_pointer_t<CUgreenCtx>, destroy> context_;
  unsigned sms_ = 0;
};

}  // namespace lull
