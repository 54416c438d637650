// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/measure/plain_kernels.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <optional>
#include <thread>

namespace lull::test {

/// The job as ordinary code, a phase after the other: no worker, no protocol.
inline void run_plainly(executor& executor, worker_kernel const& kernel, job_description const& job) {
  mapped_memory const extent = executor.map(sizeof(std::uint64_t));
  stream_handle const stream = executor.own_stream();
  auto const kernels = make_plain_kernels(executor, kernel);
  std::optional<position> ended;
  position next;
  for (;;) {
    kernels->between(job.functor, ended, next, extent);
    executor.synchronize(stream);
    std::uint64_t const items = executor.load_mapped(extent.host);
    if (items == finished) break;
    if (items != 0) kernels->phase(job.functor, {next, 0, items}, job.grain);
    ended = next;
    next = next.step + 1 < kernel.shape.steps ? position{next.round, next.step + 1} : position{next.round + 1, 0};
  }
  executor.unmap(extent, sizeof(std::uint64_t));
}

/// The job in bubbles, each as long as `wait`, called with the job by the trainer's stream; `between` follows each
/// close there. How many workers it took; 0 if it failed.
template <class Wait, class Between>
std::uint64_t run_in_bubbles(runtime& side, job_description const& description, Wait wait, Between between) {
  threads_stream trainer;
  std::uint64_t const before = side.counts()[counted::launches];
  job const task = side.submit(description);
  while (!task.wait(std::chrono::nanoseconds{0})) {
    {
      bubble const idle{side, &trainer, site{"wait"}};
      trainer.enqueue([&] { wait(task); });
    }
    trainer.enqueue(between);
    trainer.synchronize();
  }
  return task.progress().state == job_state::finished ? side.counts()[counted::launches] - before : 0;
}

inline std::uint64_t run_in_bubbles(runtime& side, job_description const& description, std::chrono::microseconds gap) {
  return run_in_bubbles(
      side, description, [gap](job const&) { std::this_thread::sleep_for(gap); }, [] {});
}

}  // namespace lull::test
