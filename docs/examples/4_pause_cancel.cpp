// SPDX-License-Identifier: Apache-2.0
// Training goes on while a job is paused, resumed and cancelled, and while all side work is stopped. The job keeps its
// progress.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
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
  // Far more than this program will do.
  lull::job job = side.submit(lull::compute_task{sink.data(), 1'000, std::uint64_t{1} << 30, 200}, "endless");

  auto const train_until = [&](std::function<bool()> const& enough) {
    for (int step = 0; step < 10'000 && !enough(); ++step) {
      {
        lull::bubble const idle{side, &trainer, lull::site{"recv_forward"}};
        trainer.enqueue([] { std::this_thread::sleep_for(500us); });
      }
      trainer.synchronize();
    }
    return enough();
  };
  auto const round = [&] { return job.progress().at.round; };
  auto const state = [&] { return job.progress().state; };

  // [pause]
  bool good = train_until([&] { return round() >= 3; });
  job.pause();  // returns at once; blocks leave at their next yield point, within a chunk's time
  good = good && train_until([&] { return state() == lull::job_state::paused; });
  std::uint64_t const items = job.progress().items;  // no block is inside: exact

  int bubbles = 0;
  train_until([&] { return ++bubbles > 20; });  // no job is ready: these bubbles enqueue nothing
  good = good && job.progress().items == items;

  std::uint64_t const before = round();
  job.resume();  // continues where it was
  good = good && train_until([&] { return round() > before + 3; });
  // [/pause]

  // [pause_all]
  if (!side.pause_all(10s)) return 1;  // true: none of Lull's blocks works, and none will
  std::uint64_t const done = round();
  train_until([&] { return ++bubbles > 40; });  // allocate, load code or profile here
  good = good && round() == done;
  side.resume_all();  // the job goes on
  // [/pause_all]
  good = good && train_until([&] { return round() > done + 3; });

  // [cancel]
  job.cancel();                  // final
  good = job.wait(60s) && good;  // no block is inside from here on: the arrays may go
  // [/cancel]
  std::printf("%s after %llu rounds, %llu items; paused at %llu\n", lull::name_of(state()),
              static_cast<unsigned long long>(round()), static_cast<unsigned long long>(job.progress().items),
              static_cast<unsigned long long>(items));
  return good && state() == lull::job_state::cancelled && job.progress().items > items ? 0 : 1;
}
