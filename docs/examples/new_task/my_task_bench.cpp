// SPDX-License-Identifier: Apache-2.0
// my_task_bench [threads|cuda [SECONDS]]: stand-alone speed, and how fast the task leaves the machine, by grain.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <my_task_owner.hpp>

#include <lull/host/solo/solo_run.hpp>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr std::uint32_t grains[] = {1, 4, 16, 64};
constexpr double default_seconds = 6;  // for all grains, with the input
constexpr auto bubble = 200us;         // at least: the host holds it

double us(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1000; }

/// Runs of each kind in turns for about `time`; the first ones warm up. One that takes a quarter of it is cut short.
void measure(my_task_owner& owner, lull::executor& executor, std::uint32_t grain, std::chrono::nanoseconds time) {
  auto const end = clock_type::now() + time;
  lull::solo_run solo{.finished = true};
  lull::solo_run in_bubbles{.finished = true};
  for (int run = 0; run < 2 || clock_type::now() < end; ++run) {
    owner.reset();
    lull::solo_run const one = lull::run_to_end(owner, executor, {.grain = grain, .at_most = time / 4});
    owner.reset();
    lull::solo_run const many =
        lull::run_to_end(owner, executor, {.bubble = bubble, .grain = grain, .at_most = time / 4});
    if (run == 0) continue;
    solo += one;
    in_bubbles += many;
  }
  std::printf("%5u %14.4g %14.4g %10.1f %8zu %10.1f %10.1f%s\n", grain, solo.items_per_s(), in_bubbles.items_per_s(),
              us(solo.chunk_time()), in_bubbles.drains.size(), us(lull::percentile(in_bubbles.drains, 0.5)),
              us(lull::percentile(in_bubbles.drains, 0.99)),
              in_bubbles.finished ? "" : "  cut short: give more SECONDS to verify the result");
  std::fflush(stdout);  // as it goes, into a file or a pipe, too
  if (!in_bubbles.finished) return;
  if (lull::verification const judged = owner.verify(); !judged.ok)
    throw std::runtime_error("wrong result: " + judged.message);
}

}  // namespace

int main(int argc, char** argv) try {
  std::string_view const asked = argc > 1 ? argv[1] : "";
  if (!asked.empty() && asked != "threads" && asked != "cuda")
    throw std::runtime_error("the executors are threads and cuda");
  double const seconds = argc > 2 ? std::atof(argv[2]) : default_seconds;
  if (!(seconds > 0)) throw std::runtime_error("SECONDS must be a number above 0");
  auto const end = clock_type::now() + std::chrono::duration_cast<clock_type::duration>(seconds * 1s);
  bool const on_gpu = asked == "cuda" || (asked.empty() && lull::why_no_cuda(0).empty());
  lull::executor_options options;
  options.kind = on_gpu ? lull::executor_kind::cuda : lull::executor_kind::threads;
  options.reserved_groups = 0;
  options.solo = true;
  // one core is for the host, which closes; a drain needs a second block
  if (!on_gpu) options.processors = std::max(2, static_cast<int>(std::thread::hardware_concurrency()) - 1);
  auto const executor = lull::make_executor(options);
  my_task_owner owner{std::uint64_t{1} << (on_gpu ? 27 : 22)};  // enough for more than one bubble a run
  owner.prepare(*executor);
  std::printf("on %s; drain: from the first block that sees the close to the last one out\n",
              on_gpu ? "a GPU" : "CPU threads: CPU times");
  std::printf("%5s %14s %14s %10s %8s %10s %10s\n", "grain", "items/s alone", "in bubbles", "chunk µs", "closes",
              "drain p50", "p99 µs");
  std::fflush(stdout);
  for (int left = std::size(grains); std::uint32_t const grain : grains)
    measure(owner, *executor, grain, std::max<std::chrono::nanoseconds>(1ms, (end - clock_type::now()) / left--));
} catch (std::exception const& problem) {
  std::fprintf(stderr, "my_task_bench: %s\n", problem.what());
  return 1;
}
