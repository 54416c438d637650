// SPDX-License-Identifier: Apache-2.0
// What a step of many sites costs the trainer's host: open and close together, of a stream with 4, 400 and 4,000 sites,
// in a fixed order that is not the one of their names. site_calls/executor:E; a repetition measures the three, each in
// a runtime of its own. us_N, p99_us_N: of the bubbles of N sites; ratio_N: us_N / us_4. A bubble holds a kernel that
// is long enough for a harvest.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include <lull/host/array.hpp>
#include <lull/host/measure/plain_kernels.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tasks/synthetic.hpp>

namespace {

using namespace lull;
using namespace std::chrono_literals;
using watch = std::chrono::steady_clock;

constexpr std::size_t measured = 4'000;  // bubbles
constexpr std::size_t warm_up = 2'000;   // bubbles, at the least
constexpr std::size_t passes = 4;        // over all sites, at the least: then each knows when it is expected
// Bubbles until the host waits for the stream, far from what makes a call wait for a queue.
constexpr std::size_t group = 64;
constexpr std::uint32_t fma = 20'000;  // of the kernel inside: 50 µs and more
constexpr std::size_t min_sites = 4;

class trainer_host {
 public:
  trainer_host(executor_kind kind, std::size_t sites)
      : side_({.executor = {.kind = kind, .processors = kind == executor_kind::threads ? 1 : 0},
               .tasks = {type_of<compute_task>()}}),
        sink_(executor_of(side_), 1),
        inside_(describe(compute_task{sink_.data(), 1, 1, fma})),
        kernels_(make_plain_kernels(executor_of(side_),
                                    kind == executor_kind::cuda ? inside_.type.cuda : inside_.type.threads)),
        work_(side_.submit(compute_task{sink_.data(), std::uint64_t{1} << 38, 1, 32}, "compute")),
        stream_(executor_of(side_).own_stream()) {
    for (std::size_t i = 0; i < sites; ++i) names_.push_back("stage 3, micro-batch " + std::to_string(i) + ", receive");
    std::shuffle(names_.begin(), names_.end(), std::mt19937_64{1});
    while (!side_.ready(stream_)) std::this_thread::yield();
    run(std::max(warm_up, passes * sites));
  }
  ~trainer_host() {
    work_.cancel();
    work_.wait(10s);
  }

  /// Host time of open and close together, µs. Throws where a bubble was passed over: then other calls were measured.
  std::vector<double> run(std::size_t bubbles) {
    std::vector<double> us;
    while (us.size() < bubbles) {
      one_bubble(us);
      if (us.size() % group == 0 || us.size() == bubbles) wait_for_stream();
    }
    return us;
  }

 private:
  void one_bubble(std::vector<double>& us) {
    std::string const& name = names_[next_++ % names_.size()];
    auto const opens = watch::now();
    bubble_id const id = side_.open(stream_, site{name});
    auto const opened = watch::now();
    kernels_->phase(inside_.functor, {{}, 0, 1}, 1);
    auto const closes = watch::now();
    side_.close(id, stream_);
    auto const closed = watch::now();
    if (id.bubble == 0) throw std::runtime_error("a bubble was passed over");
    us.push_back(std::chrono::duration<double, std::micro>{(opened - opens) + (closed - closes)}.count());
  }

  /// … and for the dispatcher, which reads the records.
  void wait_for_stream() {
    executor_of(side_).synchronize(stream_);
    while (collected_ < next_) {
      collected_ += side_.take_bubbles().size();
      std::this_thread::sleep_for(200us);
    }
  }

  runtime side_;
  device_array<float> sink_;
  job_description const inside_;
  std::unique_ptr<plain_kernels> const kernels_;
  job work_;
  stream_handle const stream_;
  std::vector<std::string> names_;
  std::size_t next_ = 0;
  std::size_t collected_ = 0;
};

void measure(benchmark::State& state, executor_kind kind) try {
  for (auto _ : state) {
    double few = 0;
    for (std::size_t const sites : {min_sites, std::size_t{400}, std::size_t{4'000}}) {
      distribution const found = summarise(trainer_host{kind, sites}.run(measured));
      std::string const of = "_" + std::to_string(sites);
      state.counters["us" + of] = found.p50.value();
      state.counters["p99_us" + of] = found.p99.value();
      if (sites == min_sites) {
        few = found.p50.value();
      } else {
        state.counters["ratio" + of] = found.p50.value() / few;
      }
    }
  }
} catch (std::exception const& problem) {
  state.SkipWithError(problem.what());
}

void add(char const* name, executor_kind kind) {
  benchmark::RegisterBenchmark(name, [kind](benchmark::State& state) { measure(state, kind); })
      ->Iterations(1)
      ->Repetitions(9)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add("site_calls/executor:threads", executor_kind::threads);
  add("site_calls/executor:cuda", executor_kind::cuda);
  benchmark::RunSpecifiedBenchmarks();
}
