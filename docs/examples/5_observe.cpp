// SPDX-License-Identifier: Apache-2.0
// What bubbles are there? Edges and their times, no side work: the first thing to run in a trainer.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>

int main() {
  using namespace std::chrono_literals;
  using microseconds = std::chrono::duration<double, std::micro>;
  // [observe]
  lull::runtime side{{.machine = {.kind = lull::executor_kind::threads}, .mode = lull::runtime_mode::observe}};
  lull::threads_stream trainer;
  for (int step = 0; step < 50; ++step) {
    {
      lull::bubble const idle{side, &trainer, lull::site{"recv_forward"}};
      trainer.enqueue([] { std::this_thread::sleep_for(1ms); });
    }
    {
      lull::bubble const idle{side, &trainer, lull::site{"recv_backward"}};
      trainer.enqueue([] { std::this_thread::sleep_for(3ms); });
    }
    trainer.synchronize();
  }

  std::map<std::string, std::vector<double>> lengths_us;  // by site
  auto const give_up = std::chrono::steady_clock::now() + 60s;
  for (std::size_t taken = 0; taken < side.counts().opened && std::chrono::steady_clock::now() < give_up;) {
    for (lull::bubble_report const& one : side.take_bubbles()) {
      lengths_us[one.site].push_back(microseconds{one.length}.count());
      ++taken;
    }
    std::this_thread::sleep_for(1ms);  // lengths are read by a thread of the runtime's, off the trainer's path
  }
  // [/observe]

  bool good = lengths_us.size() == 2;
  for (auto& [site, lengths] : lengths_us) {
    std::sort(lengths.begin(), lengths.end());
    std::printf("%-14s n %zu  p50 %.0f us  max %.0f us\n", site.c_str(), lengths.size(), lengths[lengths.size() / 2], lengths.back());
    good = good && lengths.size() == 50 && lengths.front() >= 1000;
  }
  return good ? 0 : 1;
}
