// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <lull/host/executor.hpp>
#include <lull/host/io/host_memory.hpp>

namespace lull {

/// The most memory that a task takes, known before the task allocates it. 0: negligible or unknown.
struct memory_need {
  std::uint64_t machine_bytes = 0;    // the task's arrays on the machine
  std::uint64_t host_bytes = 0;       // what the owner keeps in host memory
  std::uint64_t preparing_bytes = 0;  // host memory in addition, while the owner prepares or writes
  std::string_view smaller{};         // the options that reduce it: "rows or columns"
};

/// What one job of a run needs.
struct job_need {
  std::string name;
  memory_need need;
};

/// Throws limit_error, with the figures of both, unless all these jobs fit into the machine's memory and the host's
/// together. One job prepares at a time. On CPU threads the machine's memory is the host's.
void check_memory(std::span<job_need const> jobs, executor const& executor,
                  free_memory const& host = free_host_memory());

}  // namespace lull
