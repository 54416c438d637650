// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lull/host/queue/drain_order.hpp>
#include <lull/host/queue/job_document.hpp>

namespace lull::queue {

/// What has become of a job. `saved`: it ran and goes on from its checkpoint. `done`: its results may still have to be
/// put in place.
enum class entry_state : std::uint8_t { queued, claimed, running, saved, done, failed, refused, held, cancelled };
inline constexpr std::array<std::string_view, 9> state_names{"queued", "claimed", "running", "saved",    "done",
                                                             "failed", "refused", "held",    "cancelled"};
constexpr std::string_view name_of(entry_state state) { return state_names[static_cast<std::size_t>(state)]; }
/// Returns whether an agent has the job.
constexpr bool is_at_work(entry_state state) { return state == entry_state::claimed || state == entry_state::running; }
/// Returns whether the job waits for an agent.
constexpr bool waits(entry_state state) { return state == entry_state::queued || state == entry_state::saved; }
/// Returns whether the job is over.
constexpr bool is_over(entry_state state) {
  return state == entry_state::done || state == entry_state::failed || state == entry_state::refused ||
         state == entry_state::cancelled;
}

/// What changes of a job, in one step each.
struct job_entry {
  std::string id{};
  std::uint64_t version = 0;  // one more with each change
  entry_state state = entry_state::queued;
  bool in_place = false;  // of a job that is done: its results are
  int priority = 0;
  unsigned attempt = 0;   // how often an agent has claimed it
  unsigned failures = 0;  // attempts that failed
  unsigned deaths = 0;    // … that ended with the death of its process or of its agent
  std::string agent{};    // that claimed it last
  std::string token{};    // of the last change

  bool operator==(job_entry const&) const = default;
};

/// A line of a job's history.
struct job_event {
  std::uint64_t version = 0;
  entry_state state = entry_state::queued;
  std::int64_t time_s = 0;  // since 1970 (UTC); by which clock, see job_store::keeps_time
  std::string agent{};
  unsigned attempt = 0;
  std::string reason{};                                        // in words; empty: none is needed
  std::vector<std::pair<std::string, std::string>> results{};  // of a job that is done: file, and what it is renamed to
};

/// An agent as it shows itself.
struct agent_record {
  std::string id{};
  std::uint64_t beats = 0;  // counts as long as it lives
  std::string host{};
  std::int64_t process = 0;
  std::string offers{};                               // in words
  std::optional<std::chrono::nanoseconds> silence{};  // since its last beat, where the store has a clock
};

/// Whether a change must be on the disk before `change` returns.
enum class durability { durable, may_be_lost };

/// Where jobs wait. Each call may be made from any process at any time; not thread-safe. Errors: device_error where the
/// store refuses, usage_error for an id that is not there.
class job_store {
 public:
  virtual ~job_store() = default;

  /// Returns the ids, in order. All of them are on the disk then.
  virtual std::vector<std::string> submit(std::span<job_document const> jobs) = 0;
  /// Returns every job once, in no order. A job that changes meanwhile is told as it was or as it is.
  virtual std::vector<job_entry> list() = 0;
  virtual job_entry entry(std::string const& id) = 0;
  virtual job_document document(std::string const& id) = 0;
  /// Returns the user who submitted a job, where the store tells users apart, whatever the document says.
  virtual std::optional<std::string> owner(std::string const& /*id*/) { return std::nullopt; }
  /// Makes `to`, which `from` becomes, if the job still is as in `from`. Returns it as it is now, with its version and
  /// token; nothing if somebody else was faster. `what` tells why.
  virtual std::optional<job_entry> change(job_entry const& from, job_entry to, job_event what, durability how) = 0;
  /// Returns the job's history, the oldest first.
  virtual std::vector<job_event> events(std::string const& id) = 0;
  /// Returns whether times of histories are by one clock, the store's; otherwise each is by the clock of the machine
  /// that made the change.
  virtual bool keeps_time() const { return false; }

  /// Removes a job that is over as in `from`, with its document, history, checkpoints and logs; its results stay.
  /// Returns false if it is no longer so. Where the process dies meanwhile, the job is there as before, or is not
  /// listed.
  virtual bool remove(job_entry const& from) = 0;
  /// Removes what processes that died in the middle of a call have left, if they began it before that time (seconds
  /// since 1970). It must be so long ago that none of them still runs. Returns of how many calls.
  virtual std::size_t remove_litter(std::int64_t /*before_s*/) { return 0; }

  /// Shows that an agent lives.
  virtual void beat(agent_record const& agent) = 0;
  virtual std::vector<agent_record> agents() = 0;
  virtual void forget_agent(std::string const& id) = 0;
  /// An agent that has not beaten for this long has lost its jobs.
  virtual std::chrono::nanoseconds lease() const = 0;

  /// Returns the folder in which attempts of a job keep checkpoints and logs. It is made if it is missing.
  virtual std::filesystem::path folder(std::string const& id) = 0;

  /// Returns what keeps agents from beginning jobs; nothing: they begin them.
  virtual std::optional<drain_order> drained() = 0;
  /// Sets that as a whole, so the last call counts. It is on the disk then.
  virtual void set_drained(std::optional<drain_order> const& order) = 0;

  /// Returns what is wrong with the store as it is set up, in words.
  virtual std::vector<std::string> problems() { return {}; }
};

}  // namespace lull::queue
