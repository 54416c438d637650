// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull::bench {

/// `images_unfed`: the task `images` without files and without a feeder. Verified on some pictures in double precision.
task_entry images_unfed_entry();

}  // namespace lull::bench
