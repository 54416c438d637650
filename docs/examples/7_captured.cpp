// SPDX-License-Identifier: Apache-2.0
// A step is captured once and replayed. The graph holds gates and workers; the workers find their job at each replay.
#include <chrono>
#include <cstdio>
#include <thread>

#include <lull/host/array.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tasks/synthetic.hpp>

int main() {
  using namespace std::chrono_literals;
  // [capture]
  lull::runtime side{{.executor = {.kind = lull::executor_kind::threads},
                      .tasks = {lull::type_of<lull::compute_task>()}}};  // a graph gets a worker for each of these
  lull::threads_stream trainer;

  trainer.begin_capture();  // on a GPU cudaStreamBeginCapture, or torch.cuda.graph
  {
    lull::bubble const idle{side, &trainer, lull::site{"recv_forward"}};
    trainer.enqueue([] { std::this_thread::sleep_for(1ms); });  // the trainer's own wait
  }
  trainer.enqueue([] { std::this_thread::sleep_for(200us); });  // a training kernel
  lull::threads_graph const step = trainer.end_capture();
  // [/capture]

  // [replay]
  lull::device_array<float> const sink{side.memory(), 1};
  // Before, between or during replays.
  lull::job const job = side.submit(lull::compute_task{sink.data(), 20'000, 1, 500});
  for (int steps = 0; steps < 10'000 && job.progress().state != lull::job_state::finished; ++steps) {
    trainer.launch(step);  // cudaGraphLaunch: no call to Lull
    trainer.synchronize();
  }
  // [/replay]
  bool const good =
      job.wait(60s) && job.progress().state == lull::job_state::finished && side.counts()[lull::counted::captured] == 1;
  std::printf("%s in replays of %zu nodes\n", lull::name_of(job.progress().state), step.size());
  return good ? 0 : 1;
}
