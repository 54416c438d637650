// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <lull/host/lull.h>
#include <lull/host/executor.hpp>
#include <lull/host/runtime.hpp>

namespace lull::c {

/// The runtime's options for those of a C program. Throws a refusal, or usage_error for a task that is not known.
runtime_options read_options(lull_options const& asked);

/// A C program's exchange as measure_reserved_groups takes it. It throws a refusal where the program's function does
/// not return 0.
std::function<void(stream_handle)> exchange_of(lull_exchange function, void* context);

}  // namespace lull::c
