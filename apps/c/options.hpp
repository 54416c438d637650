// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/lull.h>
#include <lull/host/runtime.hpp>

namespace lull::c {

/// The runtime's options for those of a C program. Throws a refusal, or usage_error for a task that is not known.
runtime_options read_options(lull_options const& asked);

}  // namespace lull::c
