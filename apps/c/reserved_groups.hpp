// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <lull/host/lull.h>
#include <lull/host/executor.hpp>

namespace lull::c {

/// A C program's exchange as measure_reserved_groups takes it. It throws a refusal where the program's function does
/// not return 0.
std::function<void(stream_handle)> exchange_of(lull_exchange function, void* context);

}  // namespace lull::c
