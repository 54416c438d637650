// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/support/threads_job.hpp>
#include <vector>

namespace lull::test {

/// A search as a job on CPU threads.
template <class Task>
job_description job_of(Task const& task, std::uint32_t grain = 1) {
  job_description made = threads_job(task);
  made.name = "bfs";
  made.grain = grain;
  return made;
}

/// All bytes of what a run wrote.
inline std::vector<std::vector<unsigned char>> bytes_of(executor& executor, std::vector<task_array> const& arrays) {
  std::vector<std::vector<unsigned char>> all;
  for (auto const& one : arrays) {
    all.emplace_back(one.array.bytes());
    executor.read(all.back().data(), one.memory, all.back().size());
  }
  return all;
}

}  // namespace lull::test
