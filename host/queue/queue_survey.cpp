// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/queue_survey.hpp>

#include <algorithm>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/queue/job_id.hpp>
#include <lull/host/queue/owned_document.hpp>
#include <lull/host/queue/policy.hpp>

namespace lull::queue {

user_figures& user_figures::operator+=(user_figures const& more) noexcept {
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i] += more.jobs[i];
  attempts += more.attempts;
  failures += more.failures;
  deaths += more.deaths;
  lost_leases += more.lost_leases;
  worked_s += more.worked_s;
  return *this;
}

void queue_survey::look_at_agents(time_point now) {
  if (first_look_ == time_point{}) first_look_ = now;
  agents_ = store_.agents();
  watch_.see(agents_, now);
  std::map<std::string, std::uint64_t> beats;
  for (agent_record const& each : agents_) {
    auto const before = first_beats_.find(each.id);
    beats.emplace(each.id, before == first_beats_.end() ? each.beats : before->second);
  }
  first_beats_ = std::move(beats);
}

/// After a lease at most: where agents come and go there is always one of which nothing is known.
bool queue_survey::knows_agents(time_point now) {
  if (now - first_look_ >= store_.lease()) return true;
  return std::all_of(agents_.begin(), agents_.end(), [&](agent_record const& each) {
    return each.silence || first_beats_[each.id] != each.beats || watch_.is_dead(each.id, now);
  });
}

queue_survey::known_job const& queue_survey::known(job_entry const& of) {
  auto at = jobs_.find(of.id);
  if (at == jobs_.end()) {
    job_document read = readable_document(store_, of.id);  // of which it keeps what it looks at
    job_document kept{.user = std::move(read.user), .after = std::move(read.after)};
    at = jobs_.emplace(of.id, known_job{.document = std::move(kept)}).first;
  }
  known_job& job = at->second;
  if (of.attempt != 0 && job.version != of.version) {
    job.attempts = attempts_of(store_.events(of.id));
    job.version = of.version;
    ++histories_read_;
  }
  return job;
}

queue_figures queue_survey::look(time_point now, std::int64_t time_s) {
  std::map<std::string, job_entry> all;
  for (job_entry& each : store_.list()) all.emplace(each.id, std::move(each));
  std::erase_if(jobs_, [&](auto const& each) { return !all.contains(each.first); });
  queue_figures found;
  for (auto const& [id, entry] : all) {
    try {
      known_job const& job = known(entry);
      user_figures& of = found.users[job.document.user];
      ++of.jobs[static_cast<std::size_t>(entry.state)];
      of.attempts += entry.attempt;
      of.failures += entry.failures;
      of.deaths += entry.deaths;
      for (attempt_record const& each : job.attempts) {
        of.lost_leases += each.lost_lease ? 1 : 0;
        of.worked_s += each.worked_s(time_s);
      }
      if (waits(entry.state) && readiness_of(job.document, all).what == readiness::ready) {
        auto const made_s = static_cast<std::int64_t>(made_ms(id) / 1'000);
        found.oldest_waiting_s = std::max(found.oldest_waiting_s, time_s - made_s);
      }
    } catch (usage_error const&) {  // it was removed meanwhile
    }
  }
  for (agent_record const& each : agents_) ++(watch_.is_dead(each.id, now) ? found.agents_dead : found.agents_alive);
  return found;
}

}  // namespace lull::queue
