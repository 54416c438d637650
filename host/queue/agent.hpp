// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <lull/host/queue/attempt_files.hpp>
#include <lull/host/queue/child_process.hpp>
#include <lull/host/queue/lease_watch.hpp>
#include <lull/host/queue/policies/policies.hpp>
#include <lull/host/queue/policy.hpp>
#include <lull/host/queue/store.hpp>

namespace lull::queue {

/// With which codes a program says why it has ended.
struct end_codes {
  int refused = 0;   // the job cannot be done
  int stopped = 0;   // it was asked to stop, by others too, and has saved itself
  int no_place = 0;  // it cannot run here and now, and nothing of it has
};

/// A program that does a job's work. Code 0: it is done.
struct prepared_job {
  std::vector<std::string> arguments{};
  std::optional<end_codes> says{};  // nothing: any other code is a failure
  bool is_foreign = false;          // its code may end a trainer beside it: where both end together, it is held
  std::optional<std::chrono::nanoseconds> tries_for{};         // its first attempt is stopped then; none: it is not
  std::vector<std::pair<std::string, std::string>> results{};  // as written, and as wanted
  std::string folder{};                                        // where it runs; empty: in the job's
};

/// Takes jobs from a store and runs each in a process of its own. What an attempt writes has a name of its own, so an
/// agent that was stopped for longer than its lease, and goes on, spoils nothing: only the attempt that the store knows
/// as the one that ended has its results put in place. One thread calls all of it.
class agent {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  /// Makes a program of a job. Throws usage_error or input_error, with which the job is refused.
  using prepare_function = std::function<prepared_job(job_document const&, attempt const&)>;

  /// Called with a line, and the id of the job that it is about, if any.
  using log_function = std::function<void(std::string const& line, std::string const& job)>;

  struct options {
    std::size_t jobs_at_once = 1;
    std::string offers{};             // what it has, in words
    std::function<bool()> is_free{};  // whether a job may begin now; empty: always
    /// False: it leaves the job to other agents; empty: it takes all.
    std::function<bool(job_document const&, job_entry const&)> takes{};
    policy order{};                          // of jobs that wait; empty: by priority and age
    std::chrono::nanoseconds list_every{0};  // 0: chosen by the lease
    std::uint64_t max_log_bytes = 16 << 20;  // of an attempt; looked at once a second
  };
  static constexpr unsigned max_deaths = 2;  // of a job's process or agent: then it is held
  static constexpr std::chrono::seconds stops_within{30};

  agent(job_store& store, prepare_function prepare, log_function log, options asked);
  /// Kills what still runs.
  ~agent();
  agent(agent const&) = delete;
  agent& operator=(agent const&) = delete;

  /// Does one round of work. Returns when the next should come. A store that refuses is tried again then.
  time_point tick(time_point now);
  /// Returns whether, at the last two listings, no job was at work anywhere or could be begun.
  bool is_idle() const noexcept { return quiet_listings_ >= 2; }
  /// Takes no further jobs, and asks those that run to save themselves.
  void stop(time_point now);
  /// Returns whether no job runs here.
  bool is_empty() const noexcept { return running_.empty(); }
  /// Returns whether an agent that was stopped has nothing more to do, or can do nothing more.
  bool has_stopped(time_point now) const;
  std::string const& id() const noexcept { return record_.id; }

 private:
  struct running_job {
    job_entry entry{};
    job_document document{};
    attempt at{};
    std::unique_ptr<child_process> process{};
    prepared_job prepared{};
    time_point begun{};
    time_point next_look_at_log{};
    std::optional<time_point> kill_at{};  // it was asked to end
    bool is_taken = false;                // somebody else has changed it
    bool is_late = false;
    std::string unwritten{};       // why its results are not on the disk, though its program has ended well
    std::string given_back_for{};  // why it is to be saved; empty: it is not
  };

  time_point round(time_point now);
  std::chrono::nanoseconds usual() const;
  std::chrono::nanoseconds about(std::chrono::nanoseconds time);
  void beat(time_point now);
  void watch_programs(time_point now);
  void look_at_agents(time_point now);
  void look_at_all(time_point now);
  bool look_after(running_job& job, time_point now);
  void conclude(running_job& job, program_end const& how, time_point now);
  void conclude_undone(running_job const& job, program_end const& how, std::string const& line, time_point now);
  void look_at_drain(time_point now);
  void pass_over(std::string const& id, time_point now);
  void take_over(time_point now);
  void end(job_entry const& done);
  bool runs_here(std::string const& id) const;
  bool begin_jobs(time_point now);
  std::vector<job_entry> candidates();
  void put_in_order(std::vector<job_entry>& waiting);
  void note_use(time_point now);
  job_document read(std::string const& id);
  readiness readiness_now(job_document const& job);
  bool begin(job_entry const& claimed, job_document document, time_point now);
  static void ask_to_end(running_job& job, time_point now);
  void change(job_entry const& from, entry_state to, std::string const& reason,
              std::function<void(job_entry&)> const& also = {});
  void say_of(std::string const& id, std::string const& what) const;
  std::optional<job_entry> noted(job_entry const& from, std::optional<job_entry> now);
  job_document const* document_of(job_entry const& entry);

  job_store& store_;
  prepare_function const prepare_;
  log_function const log_;
  options const asked_;
  agent_record record_;
  lease_watch watch_;
  time_point next_beat_{};
  time_point last_beat_{};  // that the store took
  std::optional<time_point> stopped_{};
  bool is_in_trouble_ = false;  // with the store
  int quiet_listings_ = 0;
  std::map<std::string, job_entry> known_;  // by id, as they were at the last listing or by changes of this agent
  std::set<std::string> outdated_;          // of these, those that somebody else has changed since
  std::size_t agents_ = 1;                  // that live, at the last look
  time_point next_listing_{};
  time_point next_look_at_agents_{};
  bool is_drained_ = false;                        // the queue, at the last look
  time_point begins_after_{};                      // where this machine could not begin a job
  std::map<std::string, time_point> passed_over_;  // jobs that could not run here, and until when others go first
  bool has_tried_all_ = false;                     // since the last listing or the end of a job here
  std::set<std::string> told_;                     // jobs whose results cannot be put in place
  std::minstd_rand random_;
  std::map<std::string, job_document> documents_;
  std::map<std::string, std::string> users_;             // by id, of jobs at work; where the order asks for it
  std::map<std::string, double, std::less<>> used_s_{};  // by user, as this agent has seen it, less what has decayed
  time_point use_noted_{};
  std::list<running_job> running_;
};

}  // namespace lull::queue
