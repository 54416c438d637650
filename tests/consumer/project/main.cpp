// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <iostream>
#include <thread>
#include <vector>

#include <squares.hpp>

#include <lull/graph/csr/csr.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>

int main() {
  using namespace std::chrono_literals;
  std::vector<std::uint64_t> out(1000);
  lull::threads_stream trainer;
  lull::runtime side{{.executor = {.kind = lull::executor_kind::threads}, .tasks = {lull::type_of<squares>()}}};
  lull::job const job = side.submit(squares{out.data(), out.size()}, "squares");
  for (int step = 0; step < 10'000 && job.progress().state != lull::job_state::finished; ++step) {
    {
      lull::bubble const idle{side, &trainer, lull::site{"step"}};
      trainer.enqueue([] { std::this_thread::sleep_for(1ms); });
    }
    trainer.synchronize();
  }
  if (!job.wait(10s)) {
    std::cerr << "the job did not end\n";
    return 1;
  }
  for (std::uint64_t i = 0; i < out.size(); ++i) {
    if (out[i] != i * i) {
      std::cerr << i << "² came out as " << out[i] << '\n';
      return 1;
    }
  }
  std::cout << "consumer: ok\n";
}
