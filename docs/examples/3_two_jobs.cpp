// SPDX-License-Identifier: Apache-2.0
// Three jobs: the two of the highest priority have the two places of every bubble, as current job and successor. The
// third waits.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

#include <lull/host/array.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tasks/synthetic.hpp>

int main() {
  using namespace std::chrono_literals;
  lull::runtime side{
      {.executor = {.kind = lull::executor_kind::threads}, .tasks = {lull::type_of<lull::compute_task>()}}};
  lull::threads_stream trainer;
  lull::device_array<float> const sink{side.memory(), 1};

  // [submit]
  std::array<lull::job, 3> jobs;
  for (int priority = 0; priority < 3; ++priority) {
    lull::job_description what = lull::describe(lull::compute_task{sink.data(), 5'000, 4, 500});
    what.name = "priority " + std::to_string(priority);
    // The two highest have the places from the next bubble on. A job that loses its place keeps what it has done.
    what.priority = priority;
    what.grain = 8;  // items a chunk: what a worker finishes after the gate has closed
    jobs[static_cast<std::size_t>(priority)] = side.submit(what);
  }
  // [/submit]

  // [progress]
  auto const is_over = [](lull::job const& job) { return job.progress().state == lull::job_state::finished; };
  for (int step = 0; step < 10'000 && !std::all_of(jobs.begin(), jobs.end(), is_over); ++step) {
    {
      lull::bubble const idle{side, &trainer, lull::site{"recv_forward"}};
      trainer.enqueue([] { std::this_thread::sleep_for(2ms); });
    }
    trainer.synchronize();
    if (step % 20 != 0) continue;
    std::printf("bubble %3d:", step);
    for (lull::job const& job : jobs) {
      lull::job_progress const now = job.progress();  // words that the device writes: reading them makes no CUDA call
      std::printf("  %s, round %llu", lull::name_of(now.state), static_cast<unsigned long long>(now.at.round));
    }
    std::printf("\n");
  }
  // [/progress]

  bool done = true;
  for (lull::job const& job : jobs) done = job.wait(60s) && job.progress().items == 20'000 && done;
  std::printf("%s\n", done ? "all three are done, each item once" : "a job did not end");
  return done ? 0 : 1;
}
