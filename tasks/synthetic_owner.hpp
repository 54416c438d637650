// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// `compute`: only arithmetic. Verified by the rounds that each item completed.
task_entry compute_entry();

/// `streaming`: only memory traffic. Verified on random tiles against the exact sum.
task_entry streaming_entry();

}  // namespace lull
