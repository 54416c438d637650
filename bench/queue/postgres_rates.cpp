// SPDX-License-Identifier: Apache-2.0
// A queue in the database that LULL_BENCH_QUEUE names, as its owner: postgresql://USER@HOST/DATABASE. It must be empty,
// and is again afterwards. postgres_rates/what:submit/clients:N: N processes submit jobs one by one, each on the
// server's disk before the next. …/what:batch/jobs:N: one process submits N at once. …/what:claim/agents:N/among:M: N
// processes claim jobs as fast as they can, each at random among the first M of a listing, and list again when 8 tries
// in a row came too late; p99_ms is of one claim. …/what:paced/…: the same, each at most 15 claims a second.
// …/what:list/jobs:N: all of N jobs are listed.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <lull/host/queue/job_id.hpp>
#include <lull/host/queue/policy.hpp>
#include <lull/host/queue/postgres_store.hpp>

namespace {

using namespace lull::queue;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

std::string address() {
  char const* const given = std::getenv("LULL_BENCH_QUEUE");
  return given != nullptr ? given : "";
}

/// A queue that is empty before and after.
class own_queue {
 public:
  own_queue() : store_(std::make_unique<postgres_store>(address())) {}
  ~own_queue() {
    store_.reset();
    try {
      postgres_connection on{address()};
      on.run({.what = "emptying", .sql = "TRUNCATE lull.documents, lull.jobs, lull.events", .is_prepared = false});
      on.run({.what = "vacuum", .sql = "CHECKPOINT", .is_prepared = false});
    } catch (std::exception const& problem) {
      std::fprintf(stderr, "the queue is not empty now: %s\n", problem.what());
    }
  }
  own_queue(own_queue const&) = delete;
  own_queue& operator=(own_queue const&) = delete;
  postgres_store& operator*() const { return *store_; }
  postgres_store* operator->() const { return store_.get(); }

 private:
  std::unique_ptr<postgres_store> store_;
};

job_document job_of(int number) {
  return {.name = "job " + std::to_string(number),
          .run = {.task = "pagerank", .options = {{"graph", "/data/web.el"}, {"out", "/data/ranks.csv"}}}};
}

std::vector<job_document> jobs_of(int count) {
  std::vector<job_document> all;
  for (int i = 0; i < count; ++i) all.push_back(job_of(i));
  return all;
}

/// A number for each of several processes.
class shared_numbers {
 public:
  explicit shared_numbers(std::size_t count) : count_(count) {
    void* const page = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) std::abort();
    at_ = static_cast<double*>(page);
  }
  ~shared_numbers() { ::munmap(at_, bytes()); }
  shared_numbers(shared_numbers const&) = delete;
  shared_numbers& operator=(shared_numbers const&) = delete;
  double& operator[](std::size_t i) const { return at_[i]; }

 private:
  std::size_t bytes() const { return count_ * sizeof(double); }
  std::size_t const count_;
  double* at_ = nullptr;
};

/// Runs work(i) in so many processes, and returns how long all of them take once each is connected.
template <class Work>
double seconds_of(std::size_t count, Work work) {
  int ready[2], go[2];
  if (::pipe(ready) != 0 || ::pipe(go) != 0) std::abort();
  std::vector<pid_t> processes;
  char byte = 0;
  for (std::size_t i = 0; i < count; ++i) {
    processes.push_back(::fork());
    if (processes.back() != 0) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    postgres_store own{address()};
    bool const is_begun = ::write(ready[1], &byte, 1) == 1 && ::read(go[0], &byte, 1) == 1;
    if (is_begun) work(own, i);
    ::_exit(is_begun ? 0 : 1);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (::read(ready[0], &byte, 1) != 1) std::abort();
  auto const begin = steady::now();
  for (std::size_t i = 0; i < count; ++i)
    if (::write(go[1], &byte, 1) != 1) std::abort();
  for (pid_t const each : processes) ::waitpid(each, nullptr, 0);
  double const took = std::chrono::duration<double>(steady::now() - begin).count();
  for (int const each : {ready[0], ready[1], go[0], go[1]}) ::close(each);
  return took;
}

void submit(benchmark::State& state) {
  auto const clients = static_cast<std::size_t>(state.range(0));
  constexpr int each = 500;
  for (auto _ : state) {
    own_queue const queue;
    state.SetIterationTime(seconds_of(clients, [](postgres_store& own, std::size_t) {
      for (int i = 0; i < each; ++i) {
        job_document const one = job_of(i);
        own.submit({&one, 1});
      }
    }));
    if (queue->list().size() != clients * each) state.SkipWithError("not all were submitted");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * clients * each));
}

void batch(benchmark::State& state) {
  own_queue const queue;
  std::vector<job_document> const jobs = jobs_of(static_cast<int>(state.range(0)));
  for (auto _ : state) queue->submit(jobs);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void list(benchmark::State& state) {
  own_queue const queue;
  queue->submit(jobs_of(static_cast<int>(state.range(0))));
  std::size_t found = 0;
  for (auto _ : state) found = queue->list().size();
  if (found != static_cast<std::size_t>(state.range(0))) state.SkipWithError("not all are listed");
}

void claim(benchmark::State& state, std::chrono::nanoseconds every) {
  auto const agents = static_cast<std::size_t>(state.range(0));
  auto const among = static_cast<std::size_t>(state.range(1));
  constexpr std::size_t jobs = 10'000;
  std::vector<double> took_ms;
  for (auto _ : state) {
    own_queue const queue;
    queue->submit(jobs_of(jobs));
    shared_numbers const times{agents * jobs};
    shared_numbers const counts{agents};
    state.SetIterationTime(seconds_of(agents, [&](postgres_store& own, std::size_t process) {
      std::minstd_rand random{std::random_device{}()};
      std::size_t mine = 0;
      auto next_claim = steady::now() + every * static_cast<int>(process) / static_cast<int>(agents);
      for (;;) {
        std::vector<job_entry> waiting;
        for (job_entry& each : own.list())
          if (each.state == entry_state::queued) waiting.push_back(std::move(each));
        if (waiting.empty()) break;
        by_priority_and_age(waiting);
        for (int late = 0; !waiting.empty() && late < 8;) {
          auto const one = waiting.begin() + static_cast<std::ptrdiff_t>(random() % std::min(waiting.size(), among));
          job_entry const from = *one;
          waiting.erase(one);
          job_entry next = from;
          next.state = entry_state::claimed;
          std::this_thread::sleep_until(next_claim);
          auto const begin = steady::now();
          ++late;
          if (!own.change(from, next, {}, durability::may_be_lost)) continue;
          late = 0;
          times[process * jobs + mine++] = std::chrono::duration<double, std::milli>(steady::now() - begin).count();
          next_claim += every;
        }
      }
      counts[process] = static_cast<double>(mine);
    }));
    for (std::size_t i = 0; i < agents; ++i)
      for (std::size_t k = 0; k < static_cast<std::size_t>(counts[i]); ++k) took_ms.push_back(times[i * jobs + k]);
  }
  if (took_ms.size() != static_cast<std::size_t>(state.iterations()) * jobs)
    state.SkipWithError("not each job was claimed once");
  if (took_ms.empty()) return;
  std::sort(took_ms.begin(), took_ms.end());
  state.counters["p50_ms"] = took_ms[took_ms.size() / 2];
  state.counters["p99_ms"] = took_ms[took_ms.size() * 99 / 100];
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(jobs));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("postgres_rates/what:submit", submit)
      ->ArgName("clients")
      ->Arg(1)
      ->Arg(8)
      ->UseManualTime()
      ->Iterations(1);
  benchmark::RegisterBenchmark("postgres_rates/what:batch", batch)
      ->ArgName("jobs")
      ->Arg(100)
      ->Arg(1'000)
      ->UseRealTime();
  benchmark::RegisterBenchmark("postgres_rates/what:claim", [](benchmark::State& state) { claim(state, 0ns); })
      ->ArgNames({"agents", "among"})
      ->Args({1, 1})
      ->Args({64, 512})
      ->Args({64, 10'000})
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kSecond);
  benchmark::RegisterBenchmark("postgres_rates/what:paced", [](benchmark::State& state) { claim(state, 66ms); })
      ->ArgNames({"agents", "among"})
      ->Args({64, 10'000})
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kSecond);
  benchmark::RegisterBenchmark("postgres_rates/what:list", list)
      ->ArgName("jobs")
      ->Arg(10'000)
      ->Arg(100'000)
      ->Iterations(3)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  if (address().empty() || !postgres_store{address()}.list().empty()) {
    std::fprintf(stderr, "postgres_rates: set LULL_BENCH_QUEUE to the address of a queue that is empty\n");
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
