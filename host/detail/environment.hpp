// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <lull/host/runtime.hpp>

namespace lull::detail {

/// What in a process makes side work in CUDA bubbles pointless or wrong: its environment variables, and libraries that
/// were injected into it.

/// "CUDA_LAUNCH_BLOCKING=1": the host would wait for every kernel, inside bubbles too.
std::optional<std::string> launches_that_block();
/// Compute Sanitizer, Nsight Compute, Nsight Systems, or whatever CUDA was told to load: tools that may run one kernel
/// at a time.
std::optional<std::string> injected_tool();
/// CUDA_DEVICE_MAX_CONNECTIONS=1: all streams share one queue, and a worker that is queued after a bubble's end comes
/// when the bubble is over.
bool one_connection();
/// CUDA_DEVICE_MAX_CONNECTIONS=2 or 3: with more streams than connections, streams that wait for each other may share a
/// queue, and wait for ever. A trainer's two and a runtime's two are four (docs/decisions/armed-late.md).
std::optional<std::string> too_few_connections();

/// Returns what a program asked for, with the mode that the environment variable LULL and the process allow: never more
/// than it asked for. Logs what it changes, but for what LULL says, and tells in `why_off` why it turned the mode off.
/// Throws usage_error where LULL is none of its words, or an option is out of range.
runtime_options allowed_options(runtime_options asked, executor_kind kind, std::string& why_off);

}  // namespace lull::detail
