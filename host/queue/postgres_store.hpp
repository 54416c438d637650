// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include <lull/host/queue/postgres_connection.hpp>
#include <lull/host/queue/postgres_schema.hpp>
#include <lull/host/queue/store.hpp>

namespace lull::queue {

/// Jobs in a database of PostgreSQL, for many nodes and several users. A change is one statement, which updates the row
/// that has the version and the token it is made from, and adds the line of its history. A job's owner is the database
/// user who submitted it.
///
/// Each call has a time limit, and connects once more where the connection was lost. Errors name the server, without a
/// password.
class postgres_store final : public job_store {
 public:
  static constexpr std::size_t max_submit_bytes = std::size_t{256} << 20;  // of all documents of one call

  /// Opens it: "postgresql://USER@HOST/DATABASE". Throws usage_error for another address, or where there is no queue of
  /// this version's schema; device_error.
  explicit postgres_store(std::string const& address);
  /// Makes one, or brings its schema up to date; see make_postgres_schema.
  static void make(std::string const& address, postgres_queue const& with);

  std::vector<std::string> submit(std::span<job_document const> jobs) override;
  std::vector<job_entry> list() override;
  job_entry entry(std::string const& id) override;
  job_document document(std::string const& id) override;
  std::optional<std::string> owner(std::string const& id) override;
  std::optional<job_entry> change(job_entry const& from, job_entry to, job_event what, durability how) override;
  std::vector<job_event> events(std::string const& id) override;
  /// Takes the owner of the schema, as a Unix user who may write the queue's folder.
  bool remove(job_entry const& from) override;
  void beat(agent_record const& agent) override;
  std::vector<agent_record> agents() override;
  bool keeps_time() const override { return true; }
  void forget_agent(std::string const& id) override;
  std::chrono::nanoseconds lease() const override { return queue_.lease; }
  std::filesystem::path folder(std::string const& id) override;
  std::optional<drain_order> drained() override;
  /// Takes the owner of the schema.
  void set_drained(std::optional<drain_order> const& order) override;
  std::vector<std::string> problems() override;
  std::filesystem::path const& folder() const noexcept { return queue_.folder; }

 private:
  /// What does not change of a job.
  struct stored_document {
    std::string id{};
    std::string text{};
    std::string owner{};
  };
  stored_document const& stored_of(std::string const& id);
  void insert(std::span<job_document const> jobs, std::span<job_entry const> entries);
  bool has_happened(job_entry const& changed);

  postgres_connection connection_;
  postgres_queue const queue_;
  bool const may_run_;    // jobs, as an agent
  stored_document last_;  // that was read
};

}  // namespace lull::queue
