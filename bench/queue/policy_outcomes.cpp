// SPDX-License-Identifier: Apache-2.0
// What policies come to in a simulated queue: policy_outcomes/jobs:WHICH/policy:NAME/load:PERCENT. Sixteen agents do
// the jobs, each one at a time. WHICH: `trace` has the jobs of GPUs of a cluster that Alibaba published
// (openb_pod_list_default of cluster-trace-gpu-v2023, "Beware of Fragmentation", USENIX ATC 2023), where LULL_OPENB
// names the file, uncompressed; `drawn` has 7,000 whose durations lie between its percentiles (p10, 50, 90 and 99: 74,
// 544, 6,005 and 104,580 s), and which come evenly. Durations are clipped at six hours, and arrivals stretched to the
// load; at load 0 all jobs are there at the beginning, and agents are 1 to 2 times as fast. Users, deadlines and
// priorities are drawn: each of eight users sends jobs of their own usual length, within a factor, and one job of ten
// is of the top class, which counts in `priority` and `aging` alone. The same jobs for every policy.
//
// wait_top_p95_s is that of the top class; jain that of the users' mean slowdowns, a slowdown being the time from
// submission to the end in durations, at least 60 s; makespan_x is the end of the last job against the greater of the
// sum of work by the sum of speeds and the longest job on the fastest agent.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <queue>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <lull/host/queue/policies/policies.hpp>

namespace {

using namespace lull::queue;

constexpr std::size_t job_count = 7'000;
constexpr std::size_t agent_count = 16;
constexpr double clip_s = 6 * 3'600;

struct sim_job {
  waiting_job seen;
  double arrives_s = 0;
  double begins_s = -1;
  double ends_s = -1;
};

double drawn_duration(std::mt19937_64& random) {
  // log of the duration, linear between percentiles
  constexpr std::array<std::pair<double, double>, 6> points{
      {{0, 10}, {0.1, 74}, {0.5, 544}, {0.9, 6'005}, {0.99, 104'580}, {1, 200'000}}};
  double const at = std::uniform_real_distribution<>{}(random);
  std::size_t i = 1;
  while (points[i].first < at) ++i;
  double const part = (at - points[i - 1].first) / (points[i].first - points[i - 1].first);
  return std::exp(std::lerp(std::log(points[i - 1].second), std::log(points[i].second), part));
}

struct traced {
  double arrives_s;
  double work_s;
};

/// The trace's jobs that ask for GPUs.
std::vector<traced> read_trace(char const* path) {
  std::ifstream in{path};
  std::string line;
  std::getline(in, line);  // name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation,deletion,…
  std::vector<traced> found;
  while (std::getline(in, line)) {
    std::vector<std::string> fields;
    std::istringstream text{line};
    for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
    if (fields.size() < 10 || fields[3] == "0" || fields[8].empty() || fields[9].empty()) continue;
    found.push_back({std::stod(fields[8]), std::stod(fields[9]) - std::stod(fields[8])});
  }
  if (found.empty()) throw std::runtime_error{"no job with a GPU in the file that LULL_OPENB names"};
  return found;
}

std::vector<traced> drawn_jobs(std::mt19937_64& random) {
  std::vector<traced> all(job_count);
  for (traced& each : all) each = {std::uniform_real_distribution<>{}(random), drawn_duration(random)};
  return all;
}

std::vector<sim_job> jobs_at(char const* trace, double load, bool all_at_once) {
  std::mt19937_64 random{2'023};
  std::vector<traced> source = trace != nullptr ? read_trace(trace) : drawn_jobs(random);
  std::sort(source.begin(), source.end(), [](traced const& a, traced const& b) { return a.arrives_s < b.arrives_s; });
  double work = 0;
  for (traced& each : source) work += each.work_s = std::clamp(each.work_s, 1.0, clip_s);
  double const span = work / (static_cast<double>(agent_count) * load);
  double const first = source.front().arrives_s;
  double const stretch = span / (source.back().arrives_s - first);
  std::uniform_real_distribution<> uniform;
  std::vector<sim_job> all(source.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    sim_job& job = all[i];
    job.seen.work_s = source[i].work_s;
    job.arrives_s = all_at_once ? 0 : (source[i].arrives_s - first) * stretch;
    // of the length's place between 10 s and the clip, and by chance
    double const length = std::log(std::max(10.0, job.seen.work_s) / 10) / std::log(clip_s / 10);
    double const at = std::clamp(length + 0.3 * (uniform(random) - 0.5), 0.0, 0.999);
    job.seen.user = "user " + std::to_string(static_cast<int>(8 * at));
    job.seen.submitted_s = static_cast<std::int64_t>(job.arrives_s);
    job.seen.deadline_s =
        static_cast<std::int64_t>(job.arrives_s + std::max(600.0, job.seen.work_s) * (1.5 + 8 * uniform(random)));
    job.seen.priority = uniform(random) < 0.1 ? 10 : 0;
    std::string const number = std::to_string(i);
    job.seen.id = std::string(6 - number.size(), '0') + number;
  }
  return all;
}

/// Each agent takes the first job of the order when it is free.
void run(std::vector<sim_job>& jobs, policy const& order, bool uses_priority, bool unlike) {
  std::vector<double> speeds(agent_count, 1.0);
  for (std::size_t a = 0; unlike && a < agent_count; ++a)
    speeds[a] = 1 + static_cast<double>(a) / static_cast<double>(agent_count - 1);
  struct busy {
    double until_s;
    std::size_t job;
    std::size_t agent;
    bool operator>(busy const& other) const { return until_s > other.until_s; }
  };
  std::priority_queue<busy, std::vector<busy>, std::greater<>> working;
  std::vector<std::size_t> free(agent_count);
  std::iota(free.begin(), free.end(), std::size_t{0});
  std::map<std::string, std::size_t> index;
  std::vector<waiting_job> waiting;
  queue_view view;
  double used_at_s = 0;
  std::size_t next = 0;
  double now = 0;
  while (next < jobs.size() || !working.empty()) {
    bool const comes = next < jobs.size() && (working.empty() || jobs[next].arrives_s <= working.top().until_s);
    now = comes ? jobs[next].arrives_s : working.top().until_s;
    if (comes) {
      waiting.push_back(jobs[next].seen);
      if (!uses_priority) waiting.back().priority = 0;
      index[jobs[next].seen.id] = next;
      ++next;
    } else {
      free.push_back(working.top().agent);
      working.pop();
    }
    if (next < jobs.size() && jobs[next].arrives_s <= now) continue;  // all that come at once are there first
    while (!free.empty() && !waiting.empty()) {
      for (auto& [user, used] : view.used_s) used = decayed(used, now - used_at_s, use_halves_s);
      used_at_s = now;
      view.now_s = static_cast<std::int64_t>(now);
      order(waiting, view);
      auto const fastest = std::max_element(free.begin(), free.end(),
                                            [&](std::size_t a, std::size_t b) { return speeds[a] < speeds[b]; });
      std::size_t const agent = *fastest;
      free.erase(fastest);
      sim_job& job = jobs[index.at(waiting.front().id)];
      waiting.erase(waiting.begin());
      job.begins_s = now;
      job.ends_s = now + job.seen.work_s / speeds[agent];
      view.used_s[job.seen.user] += job.seen.work_s;
      working.push({job.ends_s, index.at(job.seen.id), agent});
    }
  }
}

double at_share(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Jain's index of the users' mean slowdowns: 1 where all are alike.
double jain(std::vector<sim_job> const& jobs) {
  std::map<std::string, std::pair<double, double>> of_user;
  for (sim_job const& each : jobs) {
    auto& [sum, count] = of_user[each.seen.user];
    sum += (each.ends_s - each.arrives_s) / std::max(60.0, each.seen.work_s);
    ++count;
  }
  double sum = 0;
  double squares = 0;
  for (auto const& [user, told] : of_user) {
    double const mean = told.first / told.second;
    sum += mean;
    squares += mean * mean;
  }
  return sum * sum / (static_cast<double>(of_user.size()) * squares);
}

void policy_outcomes(benchmark::State& state, char const* trace, std::string const& name, double load) {
  bool const is_makespan = load == 0;
  bool const uses_priority = name == "aging" || name == "priority";
  policy const order = policy_named(name == "priority" ? "first-come" : name);
  for (auto _ : state) {
    std::vector<sim_job> jobs = jobs_at(trace, is_makespan ? 1 : load, is_makespan);
    run(jobs, order, uses_priority, is_makespan);
    double completion = 0;
    double misses = 0;
    double end = 0;
    double work = 0;
    double longest = 0;
    double max_wait = 0;
    std::vector<double> top;
    for (sim_job const& each : jobs) {
      completion += each.ends_s - each.arrives_s;
      misses += each.ends_s > static_cast<double>(*each.seen.deadline_s) ? 1 : 0;
      end = std::max(end, each.ends_s);
      work += each.seen.work_s;
      longest = std::max(longest, each.seen.work_s);
      max_wait = std::max(max_wait, each.begins_s - each.arrives_s);
      if (each.seen.priority != 0) top.push_back(each.begins_s - each.arrives_s);
    }
    double const n = static_cast<double>(jobs.size());
    state.counters["mean_completion_s"] = completion / n;
    state.counters["misses"] = misses / n;
    state.counters["jain"] = jain(jobs);
    state.counters["wait_top_p95_s"] = at_share(top, 0.95);
    state.counters["max_wait_s"] = max_wait;
    double const speed_sum = 1.5 * static_cast<double>(agent_count);
    if (is_makespan) state.counters["makespan_x"] = end / std::max(work / speed_sum, longest / 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (char const* const trace : std::array<char const*, 2>{nullptr, std::getenv("LULL_OPENB")}) {
    for (char const* const name :
         {"first-come", "shortest", "deadline", "fair", "aging", "priority", "largest", "shortest:0.5+fair:0.5"}) {
      for (int const load : {50, 90, 120, 0}) {
        bool const is_mixture = std::string_view{name}.find('+') != std::string_view::npos;
        if (is_mixture && load == 0) continue;  // it takes minutes
        std::string const full = std::string{"policy_outcomes/jobs:"} + (trace == nullptr ? "drawn" : "trace") +
                                 "/policy:" + name + "/load:" + std::to_string(load);
        benchmark::RegisterBenchmark(
            full.c_str(), [=](benchmark::State& state) { policy_outcomes(state, trace, name, load / 100.0); })
            ->Iterations(1)
            ->Unit(benchmark::kMillisecond);
      }
    }
    if (std::getenv("LULL_OPENB") == nullptr) break;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
