// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace lull {

/// Writes a line of an agent's log as a JSON object on one line, with its time (RFC 3339, UTC, milliseconds) and the id
/// of the job that it is about; empty: of none. What is not UTF-8 is replaced.
std::string json_line(std::string const& message, std::string const& job, std::chrono::system_clock::time_point time);

}  // namespace lull
