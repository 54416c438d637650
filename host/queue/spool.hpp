// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <lull/host/queue/open_folder.hpp>
#include <lull/host/queue/store.hpp>

namespace lull::queue {

/// Jobs as plain files in a folder, on a local or a shared file system, of one user and without a daemon. What changes
/// of a job is the name of one empty file, so a change is a rename, which one process alone can make. N is the last
/// letter of the job's id, so that no folder gets too large.
///
///     FORMAT                      what this is, and how long a lease is
///     documents/N/ID.json         the document
///     jobs/N/ID,VERSION,…,TOKEN   the entry
///     events/N/ID,VERSION,TOKEN   one change; one whose token no entry has had did not happen
///     agents/ID                   counts as long as the agent lives
///     DRAINED                     agents begin no jobs as long as it is there
///     work/N/ID/                  checkpoints and logs
///
/// Nothing is locked, no clock is compared with another's, and no link is followed.
class spool final : public job_store {
 public:
  static constexpr std::chrono::seconds default_lease{30};

  /// Opens it. Throws usage_error if there is none, or if others may write there; device_error.
  explicit spool(std::filesystem::path folder);
  /// Makes one in a folder that is empty or missing; keeps one that is there. Throws as the constructor.
  static void make(std::filesystem::path const& folder, std::chrono::nanoseconds lease = default_lease);

  std::vector<std::string> submit(std::span<job_document const> jobs) override;
  std::vector<job_entry> list() override;
  job_entry entry(std::string const& id) override;
  job_document document(std::string const& id) override;
  std::optional<job_entry> change(job_entry const& from, job_entry to, job_event what, durability how) override;
  std::vector<job_event> events(std::string const& id) override;
  bool remove(job_entry const& from) override;
  std::size_t remove_litter(std::int64_t before_s) override;
  void beat(agent_record const& agent) override;
  std::vector<agent_record> agents() override;
  void forget_agent(std::string const& id) override;
  std::chrono::nanoseconds lease() const override { return lease_; }
  std::filesystem::path folder(std::string const& id) override;
  std::vector<std::string> problems() override;
  std::optional<drain_order> drained() override;
  void set_drained(std::optional<drain_order> const& order) override;

 private:
  /// Returns the part of a folder in which a job has its files.
  open_folder const& part(std::map<char, open_folder>& of, char const* kind, char letter);
  open_folder const& jobs_of(std::string const& id);
  open_folder const& documents_of(std::string const& id);
  open_folder const& events_of(std::string const& id);
  void flush_part(std::map<char, open_folder>& of, char const* kind, char letter);
  std::optional<job_entry> find(std::string const& id);
  void withdraw(std::span<job_entry const> entries, std::size_t listed) noexcept;
  void remove_files(std::string const& id);

  /// What a part of the jobs' folder held.
  struct listing {
    open_folder::moment changed{};
    std::chrono::steady_clock::time_point seen{};  // that moment, for the first time
    bool is_final = false;                         // made so much later that a further change would show
    std::vector<job_entry> entries{};
  };
  /// The clocks of file systems go on in steps, of two seconds at most.
  static constexpr std::chrono::seconds clock_step{2};
  std::vector<job_entry> const& listed(char letter);

  open_folder root_;
  open_folder agents_;
  std::map<char, open_folder> jobs_;
  std::map<char, listing> listings_;
  std::map<char, open_folder> documents_;
  std::map<char, open_folder> events_;
  std::set<std::pair<std::string, char>> flushed_;  // parts of which this process knows that they are on the disk
  std::chrono::nanoseconds lease_{0};
};

}  // namespace lull::queue
