// SPDX-License-Identifier: Apache-2.0
// What an agent makes of jobs whose programs have ended, and of those of agents that are dead.
#include <lull/host/queue/agent.hpp>

#include <cstring>
#include <filesystem>
#include <system_error>

#include <lull/host/queue/attempt_record.hpp>

namespace lull::queue {

namespace {

namespace fs = std::filesystem;

std::string text_of(program_end const& how) {
  if (how.signal != 0) return std::string{"died of "} + ::strsignal(how.signal);
  return "ended with code " + std::to_string(how.code);
}

/// A job that is done stays done when the power goes, so its results must be on the disk first. Returns what is wrong.
std::string flush_results(prepared_job const& job) {
  std::string wrong;
  for (auto const& [from, to] : job.results)
    if (wrong.empty()) wrong = flush_result(from, to);
  return wrong;
}

}  // namespace

void agent::conclude(running_job& job, program_end const& how, time_point now) {
  bound_log(job.at.log, asked_.max_log_bytes);
  std::string const line = last_line(job.at.log);
  if (!job.is_taken && how == program_end{.code = 0} && job.unwritten.empty())
    job.unwritten = flush_results(job.prepared);
  if (!job.is_taken && how == program_end{.code = 0} && job.unwritten.empty()) {
    job_entry next = job.entry;
    next.state = entry_state::done;
    auto const done =
        noted(job.entry, store_.change(job.entry, next, {.results = job.prepared.results}, durability::durable));
    if (done) return end(*done);
    // Or it was taken, and the store's answer was lost: so what it has written stays.
    return say_of(job.entry.id, " was done here: what becomes of it is seen at the next listing");
  }
  conclude_undone(job, how, line, now);
  std::error_code none;
  for (auto const& [from, to] : job.prepared.results) fs::remove_all(from, none);  // of an attempt that does not count
}

/// `line`: the last of its log.
void agent::conclude_undone(running_job const& job, program_end const& how, std::string const& line, time_point now) {
  std::string const number = std::to_string(job.at.number);
  std::string const reason = "attempt " + number + " " + text_of(how) + (line.empty() ? "" : ": " + line);
  auto const says = [&](int end_codes::*what) {
    return job.prepared.says && how == program_end{.code = (*job.prepared.says).*what};
  };
  if (job.is_taken) {  // the job is what somebody else has made of it
  } else if (job.is_late) {
    change(job.entry, entry_state::failed, "attempt " + number + " took longer than its limit");
  } else if (stopped_) {
    change(job.entry, entry_state::saved, "its agent was stopped");
  } else if (!job.given_back_for.empty()) {
    change(job.entry, entry_state::saved, job.given_back_for);
  } else if (says(&end_codes::stopped)) {
    change(job.entry, entry_state::saved, "its program was asked to stop");
  } else if (says(&end_codes::no_place)) {
    pass_over(job.entry.id, now);
    change(job.entry, entry_state::saved, given_back_reason(line.empty() ? reason : line));
  } else if (says(&end_codes::refused)) {
    change(job.entry, entry_state::refused, line.empty() ? reason : line);
  } else if (job.prepared.is_foreign && asked_.is_free && !asked_.is_free()) {
    change(job.entry, entry_state::held, "the trainer beside it was gone when " + reason,
           [](job_entry& of) { ++of.deaths; });
  } else if (how.signal != 0) {
    bool const is_last = job.entry.deaths + 1 >= max_deaths;
    change(job.entry, is_last ? entry_state::held : entry_state::saved, reason, [](job_entry& of) { ++of.deaths; });
  } else {
    bool const is_last = job.entry.failures + 1 >= job.document.attempts;
    std::string const& why = job.unwritten.empty() ? reason : job.unwritten;
    change(job.entry, is_last ? entry_state::failed : entry_state::saved, why, [](job_entry& of) { ++of.failures; });
  }
}

/// Puts in place what the attempt that ended has written, and removes what earlier ones have. Any agent may do it, and
/// again: what cannot be put in place now is tried later.
void agent::end(job_entry const& done) {
  auto const history = store_.events(done.id);
  bool const is_known = !history.empty() && history.back().version == done.version;
  if (is_known) {
    for (auto const& [from, to] : history.back().results) {
      std::string const problem = put_in_place(from, to);
      if (!problem.empty()) {
        if (told_.insert(done.id).second) say_of(done.id, ": " + problem + "; it is tried again");
        return;
      }
      std::error_code none;
      for (unsigned before = done.attempt; before-- > 1;)
        fs::remove_all(attempt{.id = done.id, .number = before}.result(to), none);
    }
  }
  change(done, entry_state::done, is_known ? "" : "its history is lost: its results may have their attempt's names",
         [](job_entry& of) { of.in_place = true; });
}

/// Gives back the jobs of agents that are dead, and ends what they had begun to end. The same of what the store has as
/// this agent's and the agent does not: a change that seemed to fail, and did not.
void agent::take_over(time_point now) {
  auto const ends = [](job_entry const& each) { return each.state == entry_state::done && !each.in_place; };
  std::vector<job_entry> under_way;
  for (auto const& [id, each] : known_)
    if (is_at_work(each.state) || ends(each)) under_way.push_back(each);
  for (job_entry const& each : under_way) {
    bool const is_own = each.agent == record_.id;
    if (is_own ? runs_here(each.id) : !watch_.is_dead(each.agent, now)) continue;
    if (ends(each)) {
      end(each);
      continue;
    }
    if (is_own) {
      change(each, entry_state::saved, "its agent had not heard that it had it");
      continue;
    }
    bool const is_last = each.deaths + 1 >= max_deaths;
    change(each, is_last ? entry_state::held : entry_state::saved, lost_lease_reason(each.agent),
           [](job_entry& of) { ++of.deaths; });
  }
}

}  // namespace lull::queue
