// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// `product`: repeated matrix products in bf16, only on tensor cores. Verified on random rows in double precision.
task_entry product_entry();

}  // namespace lull
