// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/attempt_record.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace lull::queue {

namespace {

constexpr std::string_view nothing_ran = "nothing of it ran: ";

}  // namespace

std::int64_t attempt_record::worked_s(std::int64_t now_s) const noexcept {
  return begun_s ? std::max<std::int64_t>(ended_s.value_or(now_s) - *begun_s, 0) : 0;
}

std::vector<attempt_record> attempts_of(std::span<job_event const> history) {
  std::vector<attempt_record> all;
  bool is_first = true;
  for (job_event const& each : history) {
    bool const is_under_way = !all.empty() && !all.back().ended_s;
    bool const is_end = !is_at_work(each.state);
    // Of a history whose begin is lost, the first line may be the end of an attempt, but not that results are in place.
    bool const is_end_of_lost = is_first && is_end && each.attempt != 0 && !waits(each.state);
    if (each.state == entry_state::claimed || (is_first && each.state == entry_state::running)) {
      all.push_back({.number = each.attempt, .agent = each.agent, .begun_s = each.time_s});
    } else if (is_end && (is_under_way || is_end_of_lost)) {
      if (!is_under_way) all.push_back({.number = each.attempt, .agent = each.agent});
      all.back().ended_s = each.time_s;
      all.back().became = each.state;
      all.back().lost_lease = each.reason == lost_lease_reason(each.agent);
    }
    is_first = false;
  }
  return all;
}

std::string given_back_reason(std::string const& why) { return std::string{nothing_ran} + why; }

bool has_run(std::span<job_event const> history) {
  for (std::size_t i = 0; i < history.size(); ++i) {
    bool const is_given_back = i + 1 < history.size() && history[i + 1].reason.starts_with(nothing_ran);
    if (history[i].state == entry_state::running && !is_given_back) return true;
  }
  return false;
}

std::string lost_lease_reason(std::string const& agent) {
  return "agent " + agent + " has not been heard of for its lease";
}

}  // namespace lull::queue
