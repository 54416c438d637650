// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/usage.hpp>

#include <algorithm>

namespace lull::queue {

usage& usage::operator+=(usage const& more) noexcept {
  done += more.done;
  failed += more.failed;
  attempts += more.attempts;
  worked_s += more.worked_s;
  return *this;
}

std::map<std::int64_t, usage> usage_by_day(std::span<attempt_record const> attempts, std::int64_t from_s,
                                           std::int64_t now_s) {
  std::map<std::int64_t, usage> days;
  for (attempt_record const& each : attempts) {
    if (each.begun_s && *each.begun_s >= from_s) ++days[*each.begun_s / day_s].attempts;
    if (each.ended_s && *each.ended_s >= from_s) {
      if (each.became == entry_state::done) ++days[*each.ended_s / day_s].done;
      if (each.became == entry_state::failed) ++days[*each.ended_s / day_s].failed;
    }
    std::int64_t const end_s = each.ended_s.value_or(now_s);
    for (std::int64_t at = std::max(each.begun_s.value_or(end_s), from_s); at < end_s;) {
      std::int64_t const until_s = std::min((at / day_s + 1) * day_s, end_s);
      days[at / day_s].worked_s += until_s - at;
      at = until_s;
    }
  }
  return days;
}

}  // namespace lull::queue
