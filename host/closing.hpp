// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace lull {

/// How a closing edge delays the training kernels after it until worker blocks leave. Kernels placed around blocks that
/// still run would need one more wave. The closing edge delays the kernels by `longer`, rounded up to steps of 240 ns
/// and at most 3.6 µs on CUDA, and not at all on CPU threads; zero is enough where workers leave within the launch gap.
/// With `waits`, the kernels start when all blocks have begun to leave, or after 50 us. A wait depends on nothing but
/// these blocks.
struct closing {
  bool waits = false;
  std::chrono::nanoseconds longer{0};

  friend constexpr bool operator==(closing, closing) = default;
};

}  // namespace lull
