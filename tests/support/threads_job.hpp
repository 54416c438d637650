// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include <lull/host/job.hpp>
#include <lull/host/threads/worker.hpp>

namespace lull::test {

/// A job of a task that only a test knows, with code for CPU threads alone.
template <side_task Task>
job_description threads_job(Task const& task) {
  job_description made;
  made.type.threads = threads_worker<Task>();
  std::memcpy(made.functor.bytes, &task, sizeof task);
  return made;
}

}  // namespace lull::test
