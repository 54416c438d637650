// SPDX-License-Identifier: Apache-2.0
// A side task from scratch: the functor is in histogram.hpp, and lull_side_task() in CMakeLists.txt gives it its
// workers.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

#include <lull/docs/examples/histogram.hpp>
#include <lull/host/array.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>

int main() {
  using namespace std::chrono_literals;
  constexpr std::uint32_t bins = 16;
  std::vector<std::uint8_t> input(1 << 20);
  std::vector<std::uint64_t> expected(bins);
  std::uint64_t random = 1;
  for (std::uint8_t& value : input) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    value = static_cast<std::uint8_t>(random >> 60);
    ++expected[value];
  }

  lull::runtime side{{.executor = {.kind = lull::executor_kind::threads}, .tasks = {lull::type_of<histogram>()}}};
  lull::threads_stream trainer;

  // [submit]
  lull::device_memory& memory = side.memory();
  lull::device_array<std::uint8_t> const in{memory, std::span<std::uint8_t const>{input}};
  histogram task{in.data(), nullptr, nullptr, input.size(), 4096, bins};
  lull::device_array<std::uint32_t> const partial{memory, task.blocks() * bins};
  lull::device_array<std::uint64_t> const total{memory, bins};
  task.partial = partial.data();
  task.total = total.data();
  lull::job job = side.submit(task, "histogram");
  // [/submit]

  for (int step = 0; step < 10'000 && job.progress().state != lull::job_state::finished; ++step) {
    {
      lull::bubble const idle{side, &trainer, lull::site{"recv_forward"}};
      trainer.enqueue([] { std::this_thread::sleep_for(1ms); });
    }
    trainer.synchronize();
  }
  // [result]
  if (!job.wait(60s)) {
    job.cancel();  // the arrays may go when no block is inside: wait again
    job.wait(60s);
    return 1;
  }
  std::vector<std::uint64_t> const found = total.read();
  // [/result]
  std::printf("%u bins, %s\n", bins, found == expected ? "all as counted one by one" : "WRONG");
  return found == expected ? 0 : 1;
}
