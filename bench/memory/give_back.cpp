// SPDX-License-Identifier: Apache-2.0
// How long a runtime takes to give a job's device memory back to the driver, with the job saved on the host first or
// dropped to where it was saved; and what the trainer feels of it: a thread launches short kernels all the while. One
// JSON object on standard output.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/bench/program.hpp>
#include <lull/host/array.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tasks/synthetic.hpp>

namespace {

using namespace lull;
using namespace std::chrono_literals;
using watch = std::chrono::steady_clock;

double ms_since(watch::time_point begin) {
  return std::chrono::duration<double, std::milli>{watch::now() - begin}.count();
}

/// A trainer whose kernels follow each other, and the longest that one of its launches took.
class launching_trainer {
 public:
  launching_trainer() : thread_{[this] { run(); }} {}
  ~launching_trainer() {
    ends_ = true;
    thread_.join();
  }
  /// Since it was asked last: the longest launch, and the longest turn of 100 kernels of some microseconds, in ms.
  std::pair<double, double> take() { return {launch_ms_.exchange(0), turn_ms_.exchange(0)}; }

 private:
  void run() {
    LULL_CUDA(cudaSetDevice(0));
    cuda_stream const stream{0};
    while (!ends_) {
      auto const turn = watch::now();
      for (int each = 0; each < 100; ++each) {
        auto const begin = watch::now();
        trainer::burst(stream.get(), 132, 512, 100, nullptr);
        launch_ms_ = std::max(launch_ms_.load(), ms_since(begin));
      }
      LULL_CUDA(cudaStreamSynchronize(stream.get()));
      turn_ms_ = std::max(turn_ms_.load(), ms_since(turn));
    }
  }

  std::atomic<bool> ends_{false};
  std::atomic<double> launch_ms_{0};
  std::atomic<double> turn_ms_{0};
  std::thread thread_;
};

/// Milliseconds: until the job's memory has gone, and what the trainer felt meanwhile.
struct way {
  std::vector<double> gone;
  double launch = 0;
  double turn = 0;
};

void tell(nlohmann::json& out, std::string const& name, way of) {
  std::sort(of.gone.begin(), of.gone.end());
  out[name + "_p50_ms"] = of.gone[of.gone.size() / 2];
  out[name + "_max_ms"] = of.gone.back();
  out[name + "_max_launch_ms"] = of.launch;
  out[name + "_max_turn_ms"] = of.turn;
}

int run(double gigabytes, int times) {
  bench::need_gpu();
  auto const bytes = static_cast<std::size_t>(gigabytes * 1e9);
  trainer::load();
  auto const pinning = watch::now();
  runtime side{{.executor = {.kind = executor_kind::cuda},
                .saved_bytes = bytes + (std::size_t{64} << 20),
                .tasks = {type_of<compute_task>()},
                .log = bench::log_line}};
  double const start_ms = ms_since(pinning);
  auto const memory = std::make_shared<job_memory>();
  auto const allocating = watch::now();
  device_array<char> array;
  {
    job_memory::scope const its{memory};
    array = device_array<char>{side.memory(), bytes};
  }
  double const allocate_ms = ms_since(allocating);
  job_description what =
      describe(compute_task{reinterpret_cast<float*>(array.data()), std::uint64_t{1} << 38, 1, 32}, "compute");
  what.memory = memory;
  what.may_go_back = true;
  job work = side.submit(what);
  launching_trainer trainer;
  std::this_thread::sleep_for(500ms);
  trainer.take();
  std::this_thread::sleep_for(2s);
  auto const [calm_launch, calm_turn] = trainer.take();
  auto const measured = [&](std::chrono::nanoseconds at_most) {
    way found;
    for (int time = 0; time < times; ++time) {
      // Not by holding it: a job that its owner has held is not dropped.
      auto const give_up = watch::now() + 100s;
      while (work.progress().state == job_state::evicted) {
        if (watch::now() > give_up) throw std::runtime_error{"the job did not come back"};
        std::this_thread::sleep_for(1ms);
      }
      std::this_thread::sleep_for(200ms);
      trainer.take();
      auto const begin = watch::now();
      std::uint64_t const given = side.memory().give_back(1, at_most);
      found.gone.push_back(ms_since(begin));
      auto const [launch, turn] = trainer.take();
      found.launch = std::max(found.launch, launch);
      found.turn = std::max(found.turn, turn);
      if (given < bytes) throw std::runtime_error{"only " + std::to_string(given) + " bytes went back"};
    }
    return found;
  };
  way const saved = measured(60s);
  auto const too_short = std::chrono::duration<double, std::milli>{saved.gone.front() / 4};
  way const dropped = measured(std::chrono::duration_cast<std::chrono::nanoseconds>(too_short));
  nlohmann::json out{{"gigabytes", gigabytes},
                     {"times", times},
                     {"start_ms", start_ms},
                     {"allocate_ms", allocate_ms},
                     {"calm_max_launch_ms", calm_launch},
                     {"calm_max_turn_ms", calm_turn}};
  tell(out, "saved", saved);
  tell(out, "dropped", dropped);
  std::printf("%s\n", out.dump(1).c_str());
  work.cancel();
  return work.wait(10s) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  double gigabytes = 20;
  int times = 2;
  bench::program here{"give_back", "Measures how long it takes to give a job's memory back."};
  here.app.add_option("--gigabytes", gigabytes, "of the job")->check(CLI::Range(0.01, 100.0));
  here.app.add_option("--times", times, "of each way; after each the job is away for twice as long")
      ->check(CLI::Range(1, 3));
  return here.run(argc, argv, [&] { return run(gigabytes, times); });
}
