// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <lull/host/job.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>
#include <lull/tests/support/threads_job.hpp>
#include <thread>

namespace lull::test {

/// Stops its block at a chunk that was chosen, until the bubble is over: so a test preempts where it wants to, whatever
/// the machine is busy with.
struct chosen_stop {
  std::atomic<std::uint64_t> chunks{0};
  std::atomic<std::uint64_t> stop_at{0};
  std::atomic<bool> stopped{false};
};

template <class Task>
struct stopped : Task {
  chosen_stop* where;

  void operator()(chunk c, auto const& team) const noexcept {
    if (team.rank() == 0 && where->chunks.fetch_add(1) + 1 >= where->stop_at) where->stopped = true;
    while (team.sum(team.rank() == 0 && where->stopped ? 1 : 0) != 0) {
      if (team.leaving()) return;
      std::this_thread::yield();
    }
    Task::operator()(c, team);
  }
};

/// The task on CPU threads in bubbles, each closed at another chunk, up to `spread` after the one before. How many
/// workers it took; 0 if it failed.
template <class Task>
std::uint64_t run_in_chosen_bubbles(runtime& side, Task const& task, std::uint32_t grain, std::uint64_t spread = 23) {
  using namespace std::chrono_literals;
  chosen_stop where;
  std::uint64_t bubbles = 0;
  auto const until_stopped = [&](job const&) {  // or for a while, since not every bubble gets a worker
    for (int i = 0; i < 20 && (i < 2 || !where.stopped); ++i) std::this_thread::sleep_for(100us);
  };
  auto const go_on = [&] {
    where.stop_at = where.chunks + 1 + ++bubbles * 37 % spread;
    where.stopped = false;
  };
  go_on();
  job_description job = threads_job(stopped<Task>{task, &where});
  job.name = "stopped";
  job.grain = grain;
  return run_in_bubbles(side, job, until_stopped, go_on);
}

}  // namespace lull::test
