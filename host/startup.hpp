// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/runtime.hpp>

namespace lull::detail {

/// What the environment variable LULL says, and what the process's surroundings allow, of what a program asked for. Says in the log
/// what it changes. Throws usage_error where LULL is none of its words.
runtime_options as_far_as_it_goes(runtime_options asked, executor_kind kind);

}  // namespace lull::detail
