// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include <lull/host/queue/attempt_record.hpp>

namespace lull::queue {

inline constexpr std::int64_t day_s = 24 * 60 * 60;

/// What a user's jobs took and came to.
struct usage {
  std::uint64_t done = 0;      // jobs that ended so, on the day of their end
  std::uint64_t failed = 0;    // as `done`
  std::uint64_t attempts = 0;  // that began, on the day of their begin
  std::int64_t worked_s = 0;   // for which agents had jobs; an attempt over midnight counts for both days

  usage& operator+=(usage const& more) noexcept;
  bool operator==(usage const&) const = default;
};

/// Returns what the attempts of one job took and came to, by days since 1970-01-01 (UTC), from `from_s` on; those that
/// are under way until `now_s`. Both in seconds since 1970 (UTC).
std::map<std::int64_t, usage> usage_by_day(std::span<attempt_record const> attempts, std::int64_t from_s,
                                           std::int64_t now_s);

}  // namespace lull::queue
