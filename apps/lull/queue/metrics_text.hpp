// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <lull/host/queue/queue_survey.hpp>

namespace lull {

/// Of more users, those with the most jobs have series of their own, and the rest are summed as `other`.
inline constexpr std::size_t max_user_labels = 50;

/// Writes the figures of a queue for Prometheus (text format 0.0.4). All are gauges: `lull queue clean` lowers them.
/// `address`: of the queue, without a password. `time_s`: when they were taken, in seconds since 1970.
std::string metrics_text(queue::queue_figures const& figures, std::string const& address, std::int64_t time_s);

}  // namespace lull
