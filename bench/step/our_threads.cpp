// SPDX-License-Identifier: Apache-2.0
// What the runtime's own threads take of a core: with a paused job, with one that stands ready and has no bubbles, with
// bubbles from time to time, without marked steps, with them, and with a bound. The processor time of the process less
// that of the trainer's thread. One JSON object on standard output. Exit code 0; 1: an error; 2: there is no GPU.
//   our_threads --every-us 10000
#include <time.h>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include <lull/bench/program.hpp>
#include <lull/host/array.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tasks/synthetic.hpp>

namespace {

using namespace lull;
using namespace std::chrono_literals;
using json = nlohmann::ordered_json;

struct arguments {
  int every_us = 10'000;  // from one bubble's opening to the next one's
  int seconds = 3;        // of each part
};

std::chrono::nanoseconds processor_time(clockid_t of) {
  timespec now{};
  clock_gettime(of, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

/// Share of a core that others than the calling thread take while it does `work` over and over.
double others_percent(std::chrono::seconds time, auto const& work) {
  auto const others = [] { return processor_time(CLOCK_PROCESS_CPUTIME_ID) - processor_time(CLOCK_THREAD_CPUTIME_ID); };
  auto const began = std::chrono::steady_clock::now();
  auto const before = others();
  while (std::chrono::steady_clock::now() - began < time) work();
  std::chrono::duration<double> const taken = others() - before;
  std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - began;
  return 100 * taken.count() / passed.count();
}

void await(job const& task, job_state state) {
  while (task.progress().state != state) std::this_thread::sleep_for(1ms);
}

json run(arguments const& with) {
  trainer::load();
  cuda_stream const stream{0};
  runtime side{{.executor = {.kind = executor_kind::cuda}, .tasks = {type_of<compute_task>()}}};
  std::chrono::seconds const time{with.seconds};
  auto const idle = [] { std::this_thread::sleep_for(10ms); };
  json found{{"every_us", with.every_us}, {"no_job_percent", others_percent(time, idle)}};
  device_array<float> sink{side.memory(), 1};
  job task = side.submit(describe(compute_task{sink.data(), std::uint64_t{1} << 38, 1, 32}));
  await(task, job_state::placed);
  task.pause();
  await(task, job_state::paused);
  found["paused_job_percent"] = others_percent(time, idle);
  task.resume();
  await(task, job_state::placed);
  found["no_bubbles_percent"] = others_percent(time, idle);
  auto next = std::chrono::steady_clock::now();
  std::chrono::nanoseconds in_step{0};  // calls of it
  std::uint64_t steps = 0;
  auto const train = [&](bool marks) {
    if (marks) {
      auto const begin = std::chrono::steady_clock::now();
      side.step(stream.get());
      in_step += std::chrono::steady_clock::now() - begin;
      ++steps;
    }
    {
      bubble const inside{side, stream.get(), site{"wait"}};
      trainer::wait_one_thread(stream.get(), static_cast<std::uint64_t>(with.every_us) * 500, nullptr);
    }
    trainer::wait_one_thread(stream.get(), static_cast<std::uint64_t>(with.every_us) * 450,
                             nullptr);  // what it computes
    std::this_thread::sleep_until(next += std::chrono::microseconds{with.every_us});
  };
  auto const marked = [&](std::string const& name) {
    others_percent(time, [&] { train(true); });  // the first 256 marks allocate, and a bound begins carefully
    in_step = {};
    steps = 0;
    found[name + "_percent"] = others_percent(time, [&] { train(true); });
    found[name + "_step_us"] = std::chrono::duration<double, std::micro>(in_step).count() / static_cast<double>(steps);
  };
  found["bubbles_percent"] = others_percent(time, [&] { train(false); });
  marked("marked");
  side.steps().bound_slowdown(0.02);
  marked("governed");
  found["chance"] = side.steps().report().chance;
  runtime_counts const counts = side.counts();
  found["opened"] = counts[counted::opened];
  found["armed"] = counts[counted::armed];
  task.cancel();
  task.wait(10s);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  arguments with;
  bench::program here{"our_threads", "What the runtime's own threads take of a core, in per cent."};
  here.app.add_option("--every-us", with.every_us, "from one bubble's opening to the next one's")
      ->check(CLI::Range(1'000, 1'000'000));
  here.app.add_option("--seconds", with.seconds, "of each part")->check(CLI::Range(1, 60));
  here.add_limit(60, 600);
  return here.run(argc, argv, [&] {
    bench::need_gpu();
    std::cout << run(with).dump(1) << '\n';
    return 0;
  });
}
