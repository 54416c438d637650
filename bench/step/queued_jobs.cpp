// SPDX-License-Identifier: Apache-2.0
// What jobs that wait for a place cost: the processor time of a runtime's own threads with one job and with many, while
// nothing is trained and while a bubble comes every so often. On CPU threads, so that it runs anywhere; what workers
// take is the same for all numbers of jobs, and is in the figures. One JSON object on standard output.
//   queued_jobs --jobs 4000 --every-us 10000
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/bench/program.hpp>
#include <lull/bench/step/others_percent.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/host/threads/worker.hpp>
#include <lull/tasks/synthetic.hpp>

namespace {

using namespace lull;
using namespace std::chrono_literals;
using json = nlohmann::ordered_json;

struct arguments {
  std::size_t jobs = 4'000;
  int every_us = 10'000;  // from one bubble's opening to the next one's
  int seconds = 3;        // of each part
};

json run(arguments const& with) {
  json found;
  for (std::size_t const jobs : {std::size_t{1}, with.jobs}) {
    runtime side{{.executor = {.kind = executor_kind::threads, .processors = 1}}};
    threads_stream trainer;
    float sink = 0;
    std::vector<job> all;
    for (std::size_t i = 0; i < jobs; ++i) all.push_back(side.submit(compute_task{&sink, 1U << 30, 1U << 30, 8}));
    while (all.front().progress().state != job_state::placed) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(200ms);  // the others are queued
    std::string const name = "jobs_" + std::to_string(jobs);
    std::chrono::seconds const time{with.seconds};
    found[name]["no_bubbles_percent"] = bench::others_percent(time, [] { std::this_thread::sleep_for(10ms); });
    auto next = std::chrono::steady_clock::now();
    found[name]["bubbles_percent"] = bench::others_percent(time, [&] {
      {
        bubble const inside{side, &trainer, site{"wait"}};
        trainer.enqueue([] { std::this_thread::sleep_for(100us); });
      }
      std::this_thread::sleep_until(next += std::chrono::microseconds{with.every_us});
    });
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  arguments with;
  bench::program here{"queued_jobs", "What queued jobs cost: per cent of a core that a runtime's threads take."};
  here.app.add_option("--jobs", with.jobs, "that are submitted")->check(CLI::Range(2, 100'000));
  here.app.add_option("--every-us", with.every_us, "from one bubble's opening to the next one's")
      ->check(CLI::Range(1'000, 1'000'000));
  here.app.add_option("--seconds", with.seconds, "of each part")->check(CLI::Range(1, 60));
  here.add_limit(120, 600);
  return here.run(argc, argv, [&] {
    std::cout << run(with).dump(1) << '\n';
    return 0;
  });
}
