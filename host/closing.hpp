// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace lull {

/// How a closing edge keeps the training kernels after it from being placed around worker blocks that are still there,
/// which would cost them a whole wave. The kernels start later by `longer` (zero: the workers are out within the launch
/// gap anyway), or, with `waits`, when all blocks have begun to leave or 50 us have passed. A wait depends on nothing
/// but these blocks.
struct closing {
  bool waits = false;
  std::chrono::nanoseconds longer{0};

  friend constexpr bool operator==(closing, closing) = default;
};

}  // namespace lull
