// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace lull {

/// How a closing edge delays the training kernels after it, so that worker blocks can leave first. Kernels placed
/// around blocks that still run would need one more wave. `longer` is a fixed delay, in steps of 240 ns and at most 3.6
/// µs; CPU threads ignore it. Zero is enough where workers leave within the launch gap. With `waits`, the kernels start
/// when all blocks have begun to leave, or after 50 us. No later work can prolong this wait.
struct closing {
  bool waits = false;
  std::chrono::nanoseconds longer{0};

  friend constexpr bool operator==(closing, closing) = default;
};

}  // namespace lull
