// SPDX-License-Identifier: Apache-2.0
// In which order an agent tries the jobs that wait.
#include <lull/host/queue/agent.hpp>

#include <algorithm>
#include <ctime>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/queue/job_id.hpp>

namespace lull::queue {

/// Returns the jobs that wait, in the order in which to try them. Agents that all tried the first would get in each
/// other's way, so each takes one of the first of equal rank.
std::vector<job_entry> agent::candidates() {
  std::vector<job_entry> waiting;
  for (auto const& [id, each] : known_)
    if (waits(each.state) && !outdated_.contains(id) && !runs_here(id)) waiting.push_back(each);
  if (asked_.order) {
    put_in_order(waiting);
  } else {
    by_priority_and_age(waiting);
  }
  std::size_t end_of_rank = 0;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    while (end_of_rank < waiting.size() && (end_of_rank <= i || waiting[end_of_rank].priority == waiting[i].priority))
      ++end_of_rank;
    std::swap(waiting[i], waiting[i + random_() % std::min(end_of_rank - i, std::max<std::size_t>(agents_, 1))]);
  }
  return waiting;
}

/// Leaves out jobs whose documents cannot be read.
void agent::put_in_order(std::vector<job_entry>& waiting) {
  std::vector<waiting_job> seen;
  std::map<std::string, job_entry*> by_id;
  for (job_entry& each : waiting) {
    job_document const* const known = document_of(each);
    if (known == nullptr) continue;
    by_id.emplace(each.id, &each);
    seen.push_back({.id = each.id,
                    .user = known->user,
                    .priority = each.priority,
                    .submitted_s = static_cast<std::int64_t>(made_ms(each.id) / 1'000),
                    .work_s = known->wall ? std::chrono::duration<double>(*known->wall).count() : 0,
                    .deadline_s = known->deadline_s});
  }
  asked_.order(seen, {.now_s = std::time(nullptr), .used_s = used_s_});
  std::vector<job_entry> ordered;
  for (waiting_job const& each : seen) ordered.push_back(std::move(*by_id.at(each.id)));
  waiting = std::move(ordered);
}

/// The user is the owner, where the store knows one.
job_document agent::read(std::string const& id) {
  job_document found = store_.document(id);
  if (auto const owner = asked_.order ? store_.owner(id) : std::nullopt) found.user = *owner;
  return found;
}

/// Counts for the users of jobs at work the time since it was called last.
void agent::note_use(time_point now) {
  bool const is_first = use_noted_ == time_point{};
  double const passed_s = is_first ? 0 : std::chrono::duration<double>(now - use_noted_).count();
  use_noted_ = now;
  for (auto& [user, used] : used_s_) used = decayed(used, passed_s, use_halves_s);
  std::erase_if(users_, [&](auto const& each) {
    auto const is = known_.find(each.first);
    return is == known_.end() || !is_at_work(is->second.state);
  });
  for (auto const& [id, each] : known_) {
    if (!is_at_work(each.state)) continue;
    auto known = users_.find(id);
    if (known == users_.end()) {
      try {
        known = users_.emplace(id, read(id).user).first;
      } catch (usage_error const&) {  // its document is gone, or is none
        continue;
      }
    }
    used_s_[known->second] += passed_s;
  }
}

}  // namespace lull::queue
