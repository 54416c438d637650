// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// `compute`: arithmetic alone. Verified by the rounds that each item completed.
task_entry compute_entry();

/// `streaming`: memory traffic alone. Verified on random tiles against the sum that they must hold.
task_entry streaming_entry();

}  // namespace lull
