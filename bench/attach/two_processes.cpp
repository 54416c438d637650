// SPDX-License-Identifier: Apache-2.0
// A trainer and a worker in two processes, on CPU threads. two_processes/what:attach: how long it takes to make an
// attached runtime, beside a trainer that opens bubbles. …/what:notice: from the trainer's SIGKILL until the worker's
// job has left its place. …/what:calls/side:S: host time of opening and closing a bubble, with S none: no job; shared:
// the same in a trainer that shares its bubbles; own: a job of the trainer's own; attached: a job of another process.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <lull/host/array.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tasks/synthetic.hpp>

namespace {

using namespace lull;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr auto gives_up_after = 30s;

template <class So>
void await(So so) {
  for (auto const until = steady::now() + gives_up_after; !so(); std::this_thread::sleep_for(50us)) {
    if (steady::now() > until) throw std::runtime_error{"waited in vain"};
  }
}

/// A folder that no other user may write to.
class own_folder {
 public:
  own_folder() {
    std::string name = "/tmp/lull_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
    path_ = name;
  }
  ~own_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string address() const { return "unix:" + path_ + "/socket"; }

 private:
  std::string path_;
};

runtime_options options() {
  runtime_options made;
  made.executor = {.kind = executor_kind::threads, .processors = 1};
  return made;
}

runtime sharing(std::string const& address) {
  runtime_options made = options();
  made.share = address;
  return runtime{made};
}

runtime_options attached(std::string const& address) {
  runtime_options made = options();
  made.attach = address;
  return made;
}

/// Opens a bubble of a millisecond every two, until it is killed.
[[noreturn]] void train(std::string const& address) {
  runtime side = sharing(address);
  threads_stream stream;
  for (;;) {
    {
      bubble const idle{side, &stream, site{"wait"}};
      stream.enqueue([] { std::this_thread::sleep_for(1ms); });
    }
    stream.enqueue([] { std::this_thread::sleep_for(1ms); });
    stream.synchronize();
  }
}

/// Has a job that takes for ever.
[[noreturn]] void work(std::string const& address) {
  runtime side{attached(address)};
  device_array<float> sink{side.memory(), 1};
  job const endless = side.submit(compute_task{sink.data(), 1 << 30, 1, 500}, "endless");
  for (;;) endless.wait(1s);
}

/// This program again, in another role.
class other_process {
 public:
  other_process(char const* role, std::string const& address) : process_(::fork()) {
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execl("/proc/self/exe", "two_processes", role, address.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ~other_process() { end(); }
  other_process(other_process const&) = delete;
  other_process& operator=(other_process const&) = delete;
  void end() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_;
};

void set_time(benchmark::State& state, steady::duration took) {
  state.SetIterationTime(std::chrono::duration<double>(took).count());
}

void attach(benchmark::State& state) {
  own_folder const folder;
  other_process const trainer{"train", folder.address()};
  runtime const first{attached(folder.address())};  // waits for the trainer's start
  for (auto _ : state) {
    auto const begin = steady::now();
    runtime const side{attached(folder.address())};
    set_time(state, steady::now() - begin);
  }
}

void notice(benchmark::State& state) {
  for (auto _ : state) {
    own_folder const folder;
    other_process trainer{"train", folder.address()};
    runtime side{attached(folder.address())};
    device_array<float> sink{side.memory(), 1};
    job endless = side.submit(compute_task{sink.data(), 1 << 30, 1, 500}, "endless");
    await([&] { return side.counts()[counted::launches] != 0; });
    auto const begin = steady::now();
    trainer.end();
    await([&] { return endless.progress().state != job_state::placed; });
    set_time(state, steady::now() - begin);
    endless.cancel();
    endless.wait(10s);
  }
}

void calls(benchmark::State& state, std::string_view side_work) {
  own_folder const folder;
  bool const shares = side_work == "shared" || side_work == "attached";
  auto const side = shares ? std::make_unique<runtime>([&] {
    runtime_options made = options();
    made.share = folder.address();
    return made;
  }())
                           : std::make_unique<runtime>(options());
  std::unique_ptr<other_process> worker;
  if (side_work == "attached") worker = std::make_unique<other_process>("work", folder.address());
  device_array<float> sink{side->memory(), 1};
  job own;
  if (side_work == "own") own = side->submit(compute_task{sink.data(), 1 << 30, 1, 500}, "endless");
  threads_stream stream;
  bool const any = side_work == "own" || side_work == "attached";
  if (any) await([&] { return side->ready(&stream); });
  std::uint64_t opened = 0;
  for (auto _ : state) {
    auto const begin = steady::now();
    open_result const id = side->open(&stream, site{"wait"});
    auto const open = steady::now();
    stream.enqueue([] { std::this_thread::sleep_for(100us); });
    auto const back = steady::now();
    side->close(id, &stream);
    set_time(state, (open - begin) + (steady::now() - back));
    opened += id.bubble != 0 ? 1 : 0;
    stream.synchronize();
  }
  state.counters["opened"] = static_cast<double>(opened) / static_cast<double>(state.iterations());
  if (side_work == "own") own.cancel();
}

void register_all() {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("two_processes/what:attach", attach)
      ->UseManualTime()
      ->Iterations(50)
      ->Unit(benchmark::kMillisecond);
  RegisterBenchmark("two_processes/what:notice", notice)
      ->UseManualTime()
      ->Iterations(50)
      ->Unit(benchmark::kMillisecond);
  for (char const* const side : {"none", "shared", "own", "attached"})
    RegisterBenchmark(("two_processes/what:calls/side:" + std::string{side}).c_str(), calls, std::string_view{side})
        ->UseManualTime()
        ->Iterations(5'000)
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view{argv[1]} == "train") train(argv[2]);
  if (argc == 3 && std::string_view{argv[1]} == "work") work(argv[2]);
  register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
