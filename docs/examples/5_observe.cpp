// SPDX-License-Identifier: Apache-2.0
// Which bubbles are there? Only edges and their times, no side work: run this first in a trainer.
#include <chrono>
#include <cstdio>
#include <thread>

#include <lull/host/report/bubble_writers.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>

int main() {
  using namespace std::chrono_literals;
  // [observe]
  lull::runtime side{{.executor = {.kind = lull::executor_kind::threads},
                      .mode = lull::runtime_mode::observe,
                      .report = "bubbles.trace.json"}};  // at its end; for https://ui.perfetto.dev
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

  // At any time: a thread of the runtime reads the lengths, off the trainer's path.
  lull::bubble_summary seen = side.summary();
  auto const give_up = std::chrono::steady_clock::now() + 60s;
  while (seen.seen() < side.counts()[lull::counted::opened] && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(10ms);
    seen = side.summary();
  }
  std::fputs(lull::bubble_text(seen).c_str(), stdout);  // a table for each trainer stream
  lull::write_bubble_report("bubbles.json", seen);      // or .txt, or .trace.json
  // [/observe]

  bool good = seen.sites().size() == 2;
  for (lull::site_summary const& site : seen.sites()) {
    good = good && site.bubbles == 50 && site.p50 >= 990us && site.worth_it == 50;
  }
  return good ? 0 : 1;
}
