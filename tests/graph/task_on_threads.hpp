// SPDX-License-Identifier: Apache-2.0
// What the tests of tasks on CPU threads share: teams of one and of four, plain runs, preempted ones, counted phases.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/task/task_array.hpp>
#include <lull/host/threads/worker.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>
#include <lull/tests/graph/stopped.hpp>
#include <lull/tests/support/message_of.hpp>
#include <lull/tests/support/threads_job.hpp>
#include <memory>
#include <string>
#include <vector>

namespace lull::test {

/// Of a run: each array that it wrote.
using all_bytes = std::vector<std::vector<unsigned char>>;

inline all_bytes bytes_of(executor& executor, std::vector<task_array> const& arrays) {
  all_bytes all;
  for (auto const& one : arrays) {
    all.emplace_back(one.array.bytes());
    executor.read(all.back().data(), one.memory, all.back().size());
  }
  return all;
}

/// Fills all that the task writes, but for its progress.
inline void poison(executor& executor, std::vector<task_array> const& arrays, unsigned char with = 0xa5) {
  for (auto const& one : arrays) {
    std::vector<unsigned char> const bytes(one.array.bytes(), with);
    if (one.array.name != "progress") executor.write(one.memory, bytes.data(), bytes.size());
  }
}

/// An uninterrupted run, without worker and protocol.
template <class Task>
void run_task(executor& executor, Task const& task, std::uint32_t grain = 1) {
  job_description job = threads_job(task);
  job.grain = grain;
  run_plainly(executor, threads_worker<Task>(), job);
}

/// How often phases of each kind ended, so that a test knows that it has reached what it is about.
template <class Phase>
struct phase_counts {
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Phase::end)> ended{};

  std::uint64_t of(Phase phase) const { return ended[static_cast<std::size_t>(phase)]; }
  void expect_all() const {
    for (std::size_t phase = 0; phase < ended.size(); ++phase) EXPECT_GT(ended[phase], 0U) << phase;
  }
};

template <class Task, class Phase>
struct counted_phases : Task {
  phase_counts<Phase>* counts;

  void advance(position at, auto const& team) const noexcept {
    if (team.rank() == 0) ++counts->ended[static_cast<std::size_t>(this->on.progress->phase)];
    Task::advance(at, team);
  }
};

template <class Phase, class Task>
void run_counted(executor& executor, Task const& task, phase_counts<Phase>& counts) {
  static_assert(has_advance<counted_phases<Task, Phase>>);
  run_task(executor, counted_phases<Task, Phase>{{task}, &counts});
}

/// Memory that does not suffice is refused with the figures of what it is for.
template <class Make>
void expect_refused_for_memory(Make const& make, std::string const& figures, std::uint64_t limit_bytes = 100'000) {
  auto const small = make_executor({.kind = executor_kind::threads, .memory_limit_bytes = limit_bytes});
  std::string const message = message_of<limit_error>([&] { make(*small); });
  EXPECT_NE(message.find(figures), std::string::npos) << message;
  EXPECT_NE(message.find("memory limit of " + std::to_string(limit_bytes)), std::string::npos) << message;
}

/// Teams of one and of four.
class task_on_threads : public testing::TestWithParam<int> {
 protected:
  /// A barrier of four threads on few processors takes long, so those get less to do, and one block.
  bool solo() const { return GetParam() == 1; }

  std::unique_ptr<executor> executor_for(int processors = 2) const {
    return make_executor(
        {.kind = executor_kind::threads, .processors = solo() ? processors : 1, .team_width = GetParam()});
  }
  static runtime_options in_bubbles() {
    return {.executor = {.kind = executor_kind::threads, .processors = 2, .team_width = GetParam()}};
  }

  /// Preempted at other chunks each time, a run comes to the same, and begins again from where a reset leaves it.
  template <class Arrays>
  static void expect_same_when_preempted(runtime& side, Arrays& arrays, auto const& expect_result,
                                         std::string const& name, std::uint64_t at_least = 6,
                                         std::uint64_t spread = 5) {
    for (std::uint32_t const grain : {1U, 5U}) {
      SCOPED_TRACE(name + ", grain " + std::to_string(grain));
      EXPECT_GE(run_in_chosen_bubbles(side, arrays.task(), grain, spread), at_least) << "too few preemptions";
      expect_result();
      arrays.reset();
    }
  }
};

inline auto const one_and_four = testing::Values(1, 4);
inline std::string team_of(testing::TestParamInfo<int> const& info) { return "of_" + std::to_string(info.param); }

}  // namespace lull::test
