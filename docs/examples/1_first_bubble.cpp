// SPDX-License-Identifier: Apache-2.0
// A runtime, a job, and a trainer whose waits are bubbles.
#include <chrono>
#include <cstdio>
#include <thread>

#include <lull/host/array.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tasks/synthetic.hpp>

int main() {
  using namespace std::chrono_literals;
  // CPU threads stand for a GPU. On a GPU leave out `kind`, and let `stream` be the cudaStream_t that you train on.
  lull::runtime side{
      {.executor = {.kind = lull::executor_kind::threads}, .tasks = {lull::type_of<lull::compute_task>()}}};
  lull::threads_stream trainer;
  lull::stream_handle const stream = &trainer;

  // [bubble]
  lull::device_array<float> sink{side.memory(), 1};
  lull::job job = side.submit(lull::compute_task{sink.data(), 20'000, 1, 500}, "arithmetic");
  for (int step = 0; step < 10'000 && job.progress().state != lull::job_state::finished; ++step) {
    trainer.enqueue([] { std::this_thread::sleep_for(200us); });  // a training kernel
    {
      lull::bubble const idle{side, stream, lull::site{"recv_forward"}};  // the opening edge; the host does not wait
      trainer.enqueue([] { std::this_thread::sleep_for(1ms); });          // the trainer's own wait, such as ncclRecv
    }                                                                     // the closing edge, then the worker
    trainer.synchronize();
  }
  bool const done = job.wait(60s);
  if (!done) job.cancel();
  job.wait(60s);  // no block may be inside when `sink` goes
  // [/bubble]

  lull::runtime_counts const counts = side.counts();
  lull::job_progress const end = job.progress();
  std::printf("%s: %llu items in at most %llu bubbles\n", lull::name_of(end.state),
              static_cast<unsigned long long>(end.items),
              static_cast<unsigned long long>(counts[lull::counted::opened]));
  return done && end.items == 20'000 ? 0 : 1;
}
