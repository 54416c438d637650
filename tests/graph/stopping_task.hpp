// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <lull/device/side_task.hpp>
#include <lull/host/job.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/graph/pagerank_run.hpp>

namespace lull::test {

/// Where a block stops until its bubble is over: so a test preempts where it wants to, whatever the machine is busy
/// with.
struct stopping {
  std::atomic<std::uint64_t> chunks{0};
  std::atomic<std::uint64_t> stop_at{0};
  std::atomic<bool> stopped{false};
  std::atomic<std::uint64_t> phases{0};
};

/// A task on CPU threads that counts its chunks and phases, and stops where it is told to.
template <class Task>
struct stopping_task : Task {
  stopping* where;

  void operator()(chunk c, auto const& team) const noexcept {
    if (team.rank() == 0 && where->chunks.fetch_add(1) + 1 >= where->stop_at) where->stopped = true;
    while (team.sum(team.rank() == 0 && where->stopped ? 1 : 0) != 0) {
      if (team.leaving()) return;
      std::this_thread::yield();
    }
    Task::operator()(c, team);
  }

  void advance(position ended, auto const& team) const noexcept {
    if (team.rank() == 0) ++where->phases;
    Task::advance(ended, team);
  }
};

/// The job in bubbles, each stopped after some chunks, never the same number; how many workers it took.
inline std::uint64_t run_stopped(runtime& side, job_description const& job, stopping& where) {
  using namespace std::chrono_literals;
  std::uint64_t bubbles = 0;
  auto const until_stopped = [&](lull::job const&) {  // or for a while, since not every bubble gets a worker
    for (int i = 0; i < 20 && (i < 2 || !where.stopped); ++i) std::this_thread::sleep_for(100us);
  };
  auto const go_on = [&] {
    where.stop_at = where.chunks + 1 + ++bubbles * 37 % 23;
    where.stopped = false;
  };
  go_on();
  return run_in_bubbles(side, job, until_stopped, go_on);
}

}  // namespace lull::test
