// SPDX-License-Identifier: Apache-2.0
// my_task_bench [threads|cuda]: stand-alone speed, and how fast the task leaves the machine, by grain.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <my_task_owner.hpp>

#include <lull/host/solo/solo_run.hpp>

namespace {

using namespace std::chrono_literals;

constexpr int runs = 20;        // of each kind, in turns; one more warms up
constexpr auto bubble = 200us;  // at least: the host holds it

double us(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1000; }

lull::solo_run one_run(my_task_owner& owner, lull::executor& machine, lull::solo_run_options const& how) {
  owner.reset();
  lull::solo_run const found = lull::run_to_end(owner, machine, how);
  if (!found.finished) throw std::runtime_error("the task did not end within a minute");
  return found;
}

void measure(my_task_owner& owner, lull::executor& machine, std::uint32_t grain) {
  lull::solo_run solo{.finished = true};
  lull::solo_run in_bubbles{.finished = true};
  for (int run = -1; run < runs; ++run) {
    lull::solo_run const one = one_run(owner, machine, {.grain = grain});
    lull::solo_run const many = one_run(owner, machine, {.bubble = bubble, .grain = grain});
    if (run < 0) continue;
    solo += one;
    in_bubbles += many;
  }
  if (lull::verification const judged = owner.verify(); !judged.ok)
    throw std::runtime_error("wrong result: " + judged.message);
  std::printf("%5u %14.4g %14.4g %10.1f %8zu %10.1f %10.1f\n", grain, solo.items_per_s(), in_bubbles.items_per_s(),
              us(solo.chunk_time()), in_bubbles.drains.size(), us(lull::percentile(in_bubbles.drains, 0.5)),
              us(lull::percentile(in_bubbles.drains, 0.99)));
}

}  // namespace

int main(int argc, char** argv) try {
  std::string_view const asked = argc > 1 ? argv[1] : "";
  if (!asked.empty() && asked != "threads" && asked != "cuda")
    throw std::runtime_error("the executors are threads and cuda");
  bool const on_gpu = asked == "cuda" || (asked.empty() && lull::why_no_cuda(0).empty());
  lull::executor_options options;
  options.kind = on_gpu ? lull::executor_kind::cuda : lull::executor_kind::threads;
  options.rooms = 0;
  options.solo = true;
  // one core is for the host, which closes; a drain needs a second block
  if (!on_gpu) options.processors = std::max(2, static_cast<int>(std::thread::hardware_concurrency()) - 1);
  auto const machine = lull::make_executor(options);
  my_task_owner owner{std::uint64_t{1} << (on_gpu ? 28 : 22)};  // enough for several bubbles a run
  owner.prepare(*machine);
  std::printf("on %s; drain: from the first block that sees the close to the last one out\n",
              on_gpu ? "a GPU" : "CPU threads: CPU times");
  std::printf("%5s %14s %14s %10s %8s %10s %10s\n", "grain", "items/s alone", "in bubbles", "chunk µs", "closes",
              "drain p50", "p99 µs");
  for (std::uint32_t const grain : {1, 4, 16, 64}) measure(owner, *machine, grain);
} catch (std::exception const& problem) {
  std::fprintf(stderr, "my_task_bench: %s\n", problem.what());
  return 1;
}
