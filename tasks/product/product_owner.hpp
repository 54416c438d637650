// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// `product`: matrix products in bf16, over and over: tensor cores and nothing else. Verified on random rows in double
/// precision.
task_entry product_entry();

}  // namespace lull
