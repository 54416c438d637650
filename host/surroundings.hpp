// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace lull {

/// What a process is surrounded by that makes side work in CUDA bubbles pointless or wrong: from its environment, and from the
/// libraries that were put into it.

/// "CUDA_LAUNCH_BLOCKING=1": the host would wait for every kernel, inside bubbles too.
std::optional<std::string> launches_that_block();
/// Compute Sanitizer, Nsight Compute, Nsight Systems, or whatever CUDA was told to load: tools that may run one kernel at a time.
std::optional<std::string> injected_tool();
/// CUDA_DEVICE_MAX_CONNECTIONS=1: all streams share one queue, and a worker queued behind a bubble's end comes when it is over.
bool one_connection();
/// CUDA_DEVICE_MAX_CONNECTIONS=2 or 3: with more streams than connections those that wait for each other may share a queue, and wait for
/// ever. A trainer's two and a runtime's two are four (docs/decisions/armed-late.md).
std::optional<std::string> too_few_connections();

}  // namespace lull
