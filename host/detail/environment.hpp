// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <lull/host/runtime.hpp>

namespace lull::detail {

/// What in a process makes side work in CUDA bubbles pointless or wrong: its environment variables, and libraries that
/// were injected into it.

/// Returns "CUDA_LAUNCH_BLOCKING=1" if it is set: the host would wait for every kernel, inside bubbles too.
std::optional<std::string> launches_that_block();
/// Returns an injected tool that may run one kernel at a time: Compute Sanitizer, Nsight Compute, Nsight Systems, or
/// what CUDA was told to load.
std::optional<std::string> injected_tool();
/// Returns whether CUDA_DEVICE_MAX_CONNECTIONS=1: all streams share one queue, and a worker that is queued after a
/// bubble's end starts when the bubble is over.
bool one_connection();
/// Returns CUDA_DEVICE_MAX_CONNECTIONS=2 or 3 if set: with more streams than connections, streams that wait for each
/// other may share a queue and wait for ever. A trainer's two and a runtime's two are four
/// (docs/decisions/armed-late.md).
std::optional<std::string> too_few_connections();

/// Returns the mode that the environment variable LULL names, if it is set. Throws usage_error for an unknown value.
std::optional<runtime_mode> mode_from_environment();
/// Returns the options that the environment variable LULL and the process allow; the mode never exceeds what the
/// program asked for. Logs what it changes, except for LULL's own choice, and sets `why_off` if it turns the mode off.
/// Throws usage_error if LULL has an unknown value or an option is out of range.
runtime_options allowed_options(runtime_options asked, executor_kind kind, std::string& why_off);

}  // namespace lull::detail
