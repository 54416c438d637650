// SPDX-License-Identifier: Apache-2.0
// A spool in the folder that LULL_BENCH_FOLDER names, or in /tmp. spool_rates/what:bare: a file of a job's size is
// written and flushed, and its folder is, as the least that a durable job takes. …/what:submit: a job is.
// …/what:batch/jobs:N: N jobs are at once. …/what:claim/agents:N: N processes claim jobs as fast as they can; p99_ms is
// of one claim. …/what:list/jobs:N: all of N jobs are listed. …/what:idle: the CPU that an agent takes that has nothing
// to do. …/what:kills/seed:S: 64 agents do 10,000 jobs, and 200 agents are killed at random moments; `wrong` counts
// results that differ from what each job must write.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <lull/host/queue/agent.hpp>
#include <lull/host/queue/job_id.hpp>
#include <lull/host/queue/spool.hpp>

namespace {

using namespace lull::queue;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
namespace fs = std::filesystem;

class own_folder {
 public:
  own_folder() {
    char const* const where = std::getenv("LULL_BENCH_FOLDER");
    std::string name = std::string{where != nullptr ? where : "/tmp"} + "/lull_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
    path_ = name;
  }
  ~own_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path at(std::string const& name) const { return path_ / name; }

 private:
  fs::path path_;
};

job_document job_of(int number) {
  return {.name = "job " + std::to_string(number),
          .run = {.task = "pagerank", .options = {{"graph", "/data/web.el"}, {"out", "/data/ranks.csv"}}}};
}

std::unique_ptr<spool> made(own_folder const& folder, std::chrono::nanoseconds lease = 30s) {
  spool::make(folder.at("spool"), lease);
  return std::make_unique<spool>(folder.at("spool"));
}

void bare(benchmark::State& state) {
  own_folder const folder;
  std::string const text = to_json(job_of(1));
  open_folder const files = open_folder::own(folder.at(""));
  for (auto _ : state) {
    files.write_new(make_job_id(), text, open_folder::flushing::flush);
    files.flush_names();
  }
  state.SetItemsProcessed(state.iterations());
}

void submit(benchmark::State& state, int count) {
  own_folder const folder;
  auto const store = made(folder);
  std::vector<job_document> jobs;
  for (int i = 0; i < count; ++i) jobs.push_back(job_of(i));
  for (auto _ : state) store->submit(jobs);
  state.SetItemsProcessed(state.iterations() * count);
}

void fill(spool& store, int jobs) {
  std::vector<job_document> all;
  for (int i = 0; i < jobs; ++i) all.push_back(job_of(i));
  store.submit(all);
}

template <class Work>
pid_t process_of(Work work) {
  pid_t const child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  work();
  ::_exit(0);
}

/// Claims what waits, the way agents do: from a listing, at random among the first.
std::vector<double> claim_all(fs::path const& at, std::size_t agents) {
  std::vector<double> took_ms;
  spool own{at};
  std::minstd_rand random{std::random_device{}()};
  for (;;) {
    std::vector<job_entry> waiting;
    for (job_entry& each : own.list())
      if (each.state == entry_state::queued) waiting.push_back(std::move(each));
    if (waiting.empty()) return took_ms;
    while (!waiting.empty()) {
      auto const one = waiting.begin() + static_cast<std::ptrdiff_t>(random() % std::min(waiting.size(), agents));
      job_entry const from = *one;
      waiting.erase(one);
      job_entry next = from;
      next.state = entry_state::claimed;
      auto const begin = steady::now();
      if (own.change(from, next, {}, durability::may_be_lost))
        took_ms.push_back(std::chrono::duration<double, std::milli>(steady::now() - begin).count());
    }
  }
}

void claim(benchmark::State& state) {
  auto const agents = static_cast<std::size_t>(state.range(0));
  constexpr int jobs = 10'000;
  std::vector<double> took_ms;
  for (auto _ : state) {
    own_folder const folder;
    fill(*made(folder), jobs);
    auto const begin = steady::now();
    std::vector<pid_t> processes;
    for (std::size_t i = 0; i < agents; ++i)
      processes.push_back(process_of([&] {
        std::ofstream out{folder.at("took-" + std::to_string(i))};
        for (double const each : claim_all(folder.at("spool"), agents)) out << each << '\n';
        out.flush();
      }));
    for (pid_t const each : processes) ::waitpid(each, nullptr, 0);
    state.SetIterationTime(std::chrono::duration<double>(steady::now() - begin).count());
    for (std::size_t i = 0; i < agents; ++i) {
      std::ifstream in{folder.at("took-" + std::to_string(i))};
      for (double each = 0; in >> each;) took_ms.push_back(each);
    }
  }
  if (took_ms.size() != static_cast<std::size_t>(state.iterations()) * jobs)
    state.SkipWithError("not each job was claimed once");
  if (took_ms.empty()) return;
  std::sort(took_ms.begin(), took_ms.end());
  state.counters["p99_ms"] = took_ms[took_ms.size() * 99 / 100];
  state.SetItemsProcessed(state.iterations() * jobs);
}

void list(benchmark::State& state) {
  own_folder const folder;
  auto const store = made(folder);
  fill(*store, static_cast<int>(state.range(0)));
  std::size_t found = 0;
  for (auto _ : state) found = store->list().size();
  if (found != static_cast<std::size_t>(state.range(0))) state.SkipWithError("not all are listed");
}

prepared_job square(job_document const& job, attempt const& at) {
  std::string const result = at.result(job.run.command.back());
  return {.arguments = {"/bin/sh", "-c", "echo $(($1 * $1)) > \"$2\"", "sh", job.run.command.front(), result},
          .results = {{result, job.run.command.back()}}};
}

/// Takes jobs until it is killed.
[[noreturn]] void work(fs::path const& at) {
  spool own{at};
  agent works{own, square, [](std::string const&, std::string const&) {}, {}};
  for (;;) std::this_thread::sleep_until(works.tick(steady::now()));
}

void idle(benchmark::State& state) {
  own_folder const folder;
  auto const store = made(folder);
  fill(*store, 1'000);
  for (job_entry const& each : store->list()) {
    job_entry next = each;
    next.state = entry_state::cancelled;
    store->change(each, next, {}, durability::may_be_lost);
  }
  double share = 0;
  for (auto _ : state) {
    auto const begin = steady::now();
    pid_t const works = process_of([&] { work(folder.at("spool")); });
    std::this_thread::sleep_for(30s);
    ::kill(works, SIGKILL);
    rusage used{};
    int status = 0;
    ::wait4(works, &status, 0, &used);
    double const took = std::chrono::duration<double>(steady::now() - begin).count();
    auto const seconds = [](timeval of) {
      return static_cast<double>(of.tv_sec) + 1e-6 * static_cast<double>(of.tv_usec);
    };
    share = (seconds(used.ru_utime) + seconds(used.ru_stime)) / took;
    state.SetIterationTime(took);
  }
  state.counters["cpu_pct"] = 100 * share;
}

void kills(benchmark::State& state) {
  constexpr int jobs = 10'000;
  constexpr int agents = 64;
  constexpr int deaths = 200;
  std::minstd_rand random{static_cast<unsigned>(state.range(0))};
  int wrong = 0;
  for (auto _ : state) {
    own_folder const folder;
    fs::create_directory(folder.at("out"));
    auto const store = made(folder, 5s);
    std::vector<job_document> all;
    for (int i = 0; i < jobs; ++i)
      all.push_back({.name = "square", .run = {.command = {std::to_string(i), folder.at("out/" + std::to_string(i))}}});
    store->submit(all);
    auto const begin = steady::now();
    std::vector<pid_t> processes;
    for (int i = 0; i < agents; ++i) processes.push_back(process_of([&] { work(folder.at("spool")); }));
    int killed = 0;
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds{random() % 400});
      if (killed < deaths) {
        pid_t& one = processes[random() % processes.size()];
        ::kill(one, SIGKILL);
        ::waitpid(one, nullptr, 0);
        one = process_of([&] { work(folder.at("spool")); });
        if (++killed < deaths) continue;
      }
      bool any_left = false;
      for (job_entry const& each : store->list()) {
        any_left = any_left || !each.in_place;
        job_entry next = each;
        next.state = entry_state::saved;
        next.deaths = 0;
        if (each.state == entry_state::held) store->change(each, next, {.reason = "released"}, durability::durable);
      }
      if (!any_left) break;
    }
    state.SetIterationTime(std::chrono::duration<double>(steady::now() - begin).count());
    for (pid_t const each : processes) {
      ::kill(each, SIGKILL);
      ::waitpid(each, nullptr, 0);
    }
    for (int i = 0; i < jobs; ++i) {
      std::ifstream in{folder.at("out/" + std::to_string(i))};
      std::string const text{std::istreambuf_iterator<char>{in}, {}};
      if (text != std::to_string(i * i) + "\n") ++wrong;
    }
    for (auto const& each : fs::directory_iterator{folder.at("out")})
      if (each.path().filename().string().find("attempt") != std::string::npos) state.counters["left_over"] += 1;
  }
  state.counters["wrong"] = wrong;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("spool_rates/what:bare", bare)->UseRealTime();
  benchmark::RegisterBenchmark("spool_rates/what:submit", [](benchmark::State& state) {
    submit(state, 1);
  })->UseRealTime();
  benchmark::RegisterBenchmark("spool_rates/what:batch",
                               [](benchmark::State& state) { submit(state, static_cast<int>(state.range(0))); })
      ->ArgName("jobs")
      ->Arg(100)
      ->Arg(1'000)
      ->UseRealTime();
  benchmark::RegisterBenchmark("spool_rates/what:claim", claim)
      ->ArgName("agents")
      ->Arg(1)
      ->Arg(64)
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kSecond);
  benchmark::RegisterBenchmark("spool_rates/what:list", list)
      ->ArgName("jobs")
      ->Arg(10'000)
      ->Arg(100'000)
      ->Iterations(3)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("spool_rates/what:idle", idle)->UseManualTime()->Iterations(1);
  benchmark::RegisterBenchmark("spool_rates/what:kills", kills)
      ->ArgName("seed")
      ->Arg(1)
      ->Arg(2)
      ->Arg(3)
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kSecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
