// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <lull/host/solo/solo_run.hpp>

namespace lull {

/// What a task did alone, again and again.
struct solo_measure {
  solo_run all;
  std::uint64_t jobs = 0;                      // that came to their end
  std::optional<std::uint64_t> chunks_of_job;  // of one that did
  std::optional<std::uint64_t> rounds_of_job;
  std::chrono::nanoseconds elapsed{0};  // of the host's clock, with all between two bubbles
};

/// From the start each time, for about that long; resets the task at the end.
solo_measure measure_solo(executor& executor, task_owner& owner, std::chrono::nanoseconds about,
                          stop_question const& stop);

/// Whole jobs; nothing where nobody knows how long one is.
std::optional<double> jobs_per_s(solo_measure const& of, task_owner const& owner);

}  // namespace lull
