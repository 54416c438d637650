// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <lull/host/queue/agent.hpp>
#include <lull/host/queue/spool.hpp>
#include <lull/tests/host/queue/store_contract.hpp>
#include <lull/tests/support/shared_value.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::queue {

/// What happened in the middle of an operation.
enum class fault { killed, power_cut, refused };

/// A spool with a job that an operation changes and one that it must not, and results of both kinds that are to be put
/// in the place of older ones. A child makes the operation; this process looks at what has become of it.
class spool_scene {
 public:
  static constexpr std::chrono::milliseconds lease{1'000};
  static constexpr char const* agent_id = "00000000000a";  // of no agent that runs

  spool_scene();

  std::string at() const { return folder_.at("spool"); }
  spool open() const { return spool{at()}; }
  /// Changes the job, as some process did before.
  void bring(entry_state state, job_event what = {}, unsigned attempt = 1);
  /// Writes what an attempt of the job has written: a file and a folder.
  void write_results() const;
  std::vector<std::pair<std::string, std::string>> results() const;
  std::string content(std::string const& name) const;
  /// Has another agent do what is left to do, as if a lease had passed meanwhile.
  void work_off(std::function<bool(agent&)> const& until) const;

  /// Makes an agent that takes jobs named "job" if it has a way to run them.
  static std::unique_ptr<agent> make_agent(job_store& store, agent::log_function says,
                                           agent::prepare_function runs = {});
  /// One round of the child's agent. Throws usage_error with what the agent says if it cannot do something.
  void tick();

  /// Fails the test unless every job is there once and whole, and unless one that nothing changes is as it was.
  /// Histories of jobs may lack their beginning after a power cut.
  void expect_whole(fault after) const;
  /// Fails the test unless what dead processes have left can be removed.
  void expect_no_litter() const;
  std::size_t jobs() const { return open().list().size(); }
  job_entry now() const { return open().entry(id); }

  test::test_folder folder_{test::memory_folder()};
  std::string other{};  // the job that nothing changes
  job_entry other_before{};
  std::string id{};
  job_entry before{};  // the job as the operation finds it

  // What the child has.
  std::unique_ptr<spool> own{};
  std::unique_ptr<agent> works{};
  std::string said{};  // by that agent
  test::shared_value<bool> acknowledged;
};

}  // namespace lull::queue
