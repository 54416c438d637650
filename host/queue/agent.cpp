// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/agent.hpp>

#include <algorithm>
#include <csignal>
#include <cstdint>

#include <unistd.h>

#include <lull/host/error.hpp>
#include <lull/host/io/host_name.hpp>
#include <lull/host/queue/job_id.hpp>
#include <lull/host/queue/policy.hpp>

namespace lull::queue {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds look_every{20};  // at programs that run
constexpr std::chrono::seconds look_at_logs_every{1};
constexpr int forgets_after = 10;    // leases without a beat
constexpr int rests_for = 5;         // listings, after a job that this machine could not begin
constexpr int passed_over_for = 15;  // listings, that job

}  // namespace

agent::agent(job_store& store, prepare_function prepare, log_function log, options asked)
    : store_(store),
      prepare_(std::move(prepare)),
      log_(std::move(log)),
      asked_(std::move(asked)),
      record_{.id = make_token(), .host = host_name(), .process = ::getpid(), .offers = asked_.offers},
      watch_(store.lease()),
      random_(std::random_device{}()) {}

agent::~agent() {
  running_.clear();
  try {
    store_.forget_agent(record_.id);
  } catch (std::exception const&) {  // it counts as dead after its lease
  }
}

void agent::beat(time_point now) {
  if (now < next_beat_) return;
  ++record_.beats;
  store_.beat(record_);
  last_beat_ = now;
  next_beat_ = now + store_.lease() / 4;
}

/// A store that refuses, as on a full disk, is tried again: programs that run go on meanwhile.
agent::time_point agent::tick(time_point now) {
  watch_programs(now);
  try {
    time_point const next = round(now);
    if (std::exchange(is_in_trouble_, false)) log_("the queue can be used again", "");
    return next;
  } catch (std::exception const& problem) {
    quiet_listings_ = 0;
    if (!std::exchange(is_in_trouble_, true))
      log_(std::string{"the queue cannot be used now, and is tried again: "} + problem.what(), "");
    return now + about(usual());
  }
}

/// What needs no store. Where it is gone for a lease, other agents may have the jobs next: so those that run are saved.
void agent::watch_programs(time_point now) {
  bool const has_lost_lease = is_in_trouble_ && now - last_beat_ >= store_.lease();
  for (running_job& job : running_) {
    if (has_lost_lease && !job.kill_at) {
      job.given_back_for = "its agent could not reach the queue for its lease";
      ask_to_end(job, now);
    }
    bool const is_first = job.prepared.tries_for && job.entry.attempt == 1;
    if (is_first && now - job.begun >= *job.prepared.tries_for && !job.kill_at) {
      job.given_back_for = "it ran for as long as it is tried for";
      ask_to_end(job, now);
    }
    if (job.document.wall && now - job.begun >= *job.document.wall && !job.is_late && !job.kill_at) {
      job.is_late = true;
      ask_to_end(job, now);
    }
    if (job.kill_at && now >= *job.kill_at) job.process->signal(SIGKILL);
    if (now >= job.next_look_at_log) {
      bound_log(job.at.log, asked_.max_log_bytes);
      job.next_look_at_log = now + look_at_logs_every;
    }
  }
}

bool agent::has_stopped(time_point now) const {
  return stopped_ && (running_.empty() || now >= *stopped_ + stops_within + store_.lease());
}

std::chrono::nanoseconds agent::usual() const {
  return asked_.list_every.count() != 0 ? asked_.list_every
                                        : std::min<std::chrono::nanoseconds>(store_.lease() / 30, 1s);
}

/// Agents that a server had wait at the same time come back at different times.
std::chrono::nanoseconds agent::about(std::chrono::nanoseconds time) {
  std::uniform_int_distribution<std::int64_t> any{time.count() * 3 / 4, time.count() * 5 / 4};
  return std::chrono::nanoseconds{any(random_)};
}

agent::time_point agent::round(time_point now) {
  beat(now);
  look_at_agents(now);
  bool const lists = now >= next_listing_;
  if (lists) {
    look_at_drain(now);
    look_at_all(now);
  }
  running_.remove_if([&](running_job& job) { return look_after(job, now); });
  if (lists) take_over(now);
  bool const any_begun = !stopped_ && begin_jobs(now);
  if (lists) {
    bool const any_at_work = std::any_of(known_.begin(), known_.end(), [](auto const& each) {
      return is_at_work(each.second.state) || (each.second.state == entry_state::done && !each.second.in_place);
    });
    bool const is_quiet = has_tried_all_ && !any_begun && !any_at_work && running_.empty() && outdated_.empty();
    quiet_listings_ = is_quiet ? quiet_listings_ + 1 : 0;
  }
  return running_.empty() ? next_listing_ : std::min<time_point>(next_listing_, now + look_every);
}

/// At its own pace: an agent counts as dead by how often it is looked at. One that is long dead is forgotten.
void agent::look_at_agents(time_point now) {
  if (now < next_look_at_agents_) return;
  next_look_at_agents_ = now + std::min<std::chrono::nanoseconds>(store_.lease() / 8, usual());
  std::vector<agent_record> const agents = store_.agents();
  watch_.see(agents, now);
  agents_ = 0;
  for (agent_record const& each : agents) {
    if (!watch_.is_dead(each.id, now)) ++agents_;
    if (watch_.silence(each.id, now) >= forgets_after * store_.lease()) store_.forget_agent(each.id);
  }
}

void agent::look_at_all(time_point now) {
  known_.clear();
  outdated_.clear();
  has_tried_all_ = false;
  auto const begin = std::chrono::steady_clock::now();
  for (job_entry& each : store_.list()) known_.emplace(each.id, std::move(each));
  // Of a long queue agents keep what they know for longer: listing takes all of them together about a core at most.
  auto const took = std::chrono::steady_clock::now() - begin;
  next_listing_ = now + about(std::max<std::chrono::nanoseconds>(usual(), took * (20 + agents_)));
  if (asked_.order) note_use(now);
  auto const waits_no_more = [&](auto const& each) {
    auto const is = known_.find(each.first);
    return is == known_.end() || !waits(is->second.state);
  };
  std::erase_if(documents_, waits_no_more);
  std::erase_if(passed_over_, waits_no_more);
}

void agent::look_at_drain(time_point now) {
  auto const order = store_.drained();
  if (is_drained_ != order.has_value())
    log_(order ? text_of(*order) : "the queue is no longer drained: jobs are begun again", "");
  is_drained_ = order.has_value();
  if (!order || !order->saves) return;
  for (running_job& each : running_) {
    if (each.kill_at) continue;
    each.given_back_for = text_of(*order);
    ask_to_end(each, now);
  }
}

/// Something of this machine, or of this job, is in the way. Others go first for a while, so that one job is not in the
/// way of all.
void agent::pass_over(std::string const& id, time_point now) {
  begins_after_ = now + rests_for * usual();
  passed_over_[id] = now + passed_over_for * usual();
}

void agent::stop(time_point now) {
  stopped_ = now;
  for (running_job& each : running_) ask_to_end(each, now);
}

void agent::ask_to_end(running_job& job, time_point now) {
  if (job.kill_at) return;
  job.process->signal(SIGINT);
  job.kill_at = now + stops_within;
}

/// Returns whether the job no longer runs here.
bool agent::look_after(running_job& job, time_point now) {
  if (auto const how = job.process->end()) {
    conclude(job, *how, now);
    has_tried_all_ = false;
    return true;
  }
  auto const at = known_.find(job.entry.id);
  if (at != known_.end() && at->second.version > job.entry.version && !job.is_taken) {
    job.is_taken = true;
    say_of(job.entry.id, " is now " + std::string{name_of(at->second.state)} + ": it is stopped here");
    ask_to_end(job, now);
  }
  return false;
}

void agent::change(job_entry const& from, entry_state to, std::string const& reason,
                   std::function<void(job_entry&)> const& also) {
  job_entry next = from;
  next.state = to;
  if (also) also(next);
  durability const how = waits(to) || is_at_work(to) ? durability::may_be_lost : durability::durable;
  if (noted(from, store_.change(from, next, {.reason = reason}, how)))
    say_of(from.id, ": " + std::string{name_of(to)} + (reason.empty() ? "" : ": " + reason));
}

void agent::say_of(std::string const& id, std::string const& what) const { log_("job " + id + what, id); }

std::optional<job_entry> agent::noted(job_entry const& from, std::optional<job_entry> now) {
  if (now) {
    known_[from.id] = *now;
  } else {
    outdated_.insert(from.id);
  }
  return now;
}

bool agent::runs_here(std::string const& id) const {
  return std::any_of(running_.begin(), running_.end(), [&](running_job const& each) { return each.entry.id == id; });
}

job_document const* agent::document_of(job_entry const& entry) {
  auto const known = documents_.find(entry.id);
  if (known != documents_.end()) return &known->second;
  try {
    return &documents_.emplace(entry.id, read(entry.id)).first->second;
  } catch (device_error const&) {
    throw;
  } catch (error const& wrong) {  // it is not there, or cannot be read
    change(entry, entry_state::refused, wrong.what());
    return nullptr;
  }
}

/// Before a job is refused, those that it awaits are looked for once more: a listing may be old.
readiness agent::readiness_now(job_document const& job) {
  readiness const listed = readiness_of(job, known_);
  if (listed.what != readiness::never) return listed;
  std::map<std::string, job_entry> awaited;
  for (std::string const& id : job.after.jobs) {
    try {
      awaited.emplace(id, store_.entry(id));
    } catch (usage_error const&) {  // it is not there
    }
  }
  return readiness_of(job, awaited);
}

/// Returns whether a job was begun.
bool agent::begin_jobs(time_point now) {
  has_tried_all_ = has_tried_all_ || is_drained_;
  if (running_.size() >= asked_.jobs_at_once || has_tried_all_) return false;
  std::vector<job_entry> const waiting = candidates();
  bool const is_free = waiting.empty() || (now >= begins_after_ && (!asked_.is_free || asked_.is_free()));
  if (!is_free) return false;
  bool any = false;
  has_tried_all_ = true;
  auto const begin_of_round = std::chrono::steady_clock::now();
  for (job_entry const& each : waiting) {
    bool const is_full = running_.size() >= asked_.jobs_at_once || now < begins_after_;
    if (is_full || std::chrono::steady_clock::now() - begin_of_round >= store_.lease() / 8) {
      has_tried_all_ = false;
      break;
    }
    if (auto const until = passed_over_.find(each.id); until != passed_over_.end()) {
      if (now < until->second) {
        has_tried_all_ = false;
        continue;
      }
      passed_over_.erase(until);
    }
    job_document const* const found = document_of(each);
    if (found == nullptr || (asked_.takes && !asked_.takes(*found, each))) continue;
    readiness const is = readiness_now(*found);
    if (is.what == readiness::never) change(each, entry_state::refused, is.why);
    if (is.what != readiness::ready) continue;
    job_entry next = each;
    next.state = entry_state::claimed;
    next.agent = record_.id;
    ++next.attempt;
    auto const claimed = noted(each, store_.change(each, next, {}, durability::may_be_lost));
    if (claimed) any = begin(*claimed, *found, now) || any;
  }
  return any;
}

bool agent::begin(job_entry const& claimed, job_document document, time_point now) {
  running_job job{.entry = claimed, .document = std::move(document), .begun = now};
  try {
    job.at = attempt_in(store_.folder(claimed.id), claimed.id, claimed.attempt);
    job.prepared = prepare_(job.document, job.at);
    std::string const& folder = job.prepared.folder.empty() ? job.document.run.folder : job.prepared.folder;
    job.process = std::make_unique<child_process>(job.prepared.arguments, job.at.log, folder);
  } catch (usage_error const& wrong) {
    change(claimed, entry_state::refused, wrong.what());
    return false;
  } catch (input_error const& wrong) {
    change(claimed, entry_state::refused, wrong.what());
    return false;
  } catch (std::exception const& problem) {  // of this machine, such as a full disk
    pass_over(claimed.id, now);
    has_tried_all_ = false;
    change(claimed, entry_state::saved, problem.what());
    return false;
  }
  job_entry next = claimed;
  next.state = entry_state::running;
  auto const runs = noted(claimed, store_.change(claimed, next, {}, durability::may_be_lost));
  if (!runs) return false;  // somebody was faster: its process is killed
  job.entry = *runs;
  say_of(claimed.id, " (" + job.document.name + ") runs, attempt " + std::to_string(claimed.attempt));
  running_.push_back(std::move(job));
  return true;
}

}  // namespace lull::queue
