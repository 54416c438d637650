// SPDX-License-Identifier: Apache-2.0
// PageRank on CPU threads beside a plain multi-threaded loop over the same graph in CSR and the same vertex arrays:
// pagerank_cpu/scale:S/threads:T, a Kronecker graph. Each repetition is one pair of runs, and who goes first
// alternates. plain_ms, lull_ms: wall time of `sweeps` sweeps; ratio: lull_ms / plain_ms.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/graph/pagerank/pagerank_arrays.hpp>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/host/measure/turns.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace lull;

constexpr std::uint64_t sweeps = 10;

struct alignas(64) partial {
  double dangling = 0;
  double change = 0;
};

/// The loop that one would write by hand: pull direction, rows claimed in blocks, two phases a sweep with a barrier
/// after each. The same fp32 sums as the side task's on a team of one: four chains a row.
class plain_loop {
 public:
  plain_loop(pagerank const& on, csr in, unsigned threads)
      : on_(on), in_(std::move(in)), claimed_(2 * sweeps + 1), partial_(threads), phase_(threads) {}

  double run_ms() {
    for (auto& each : claimed_) each.store(0, std::memory_order_relaxed);
    auto const begin = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> helpers;
      for (std::size_t me = 1; me < partial_.size(); ++me) helpers.emplace_back([this, me] { work(partial_[me]); });
      work(partial_[0]);
    }
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  static constexpr std::uint64_t block = 256;

  template <class Row>
  void each_row(std::atomic<std::uint64_t>& claimed, Row const& row) {
    for (;;) {
      auto const begin = claimed.fetch_add(block, std::memory_order_relaxed);  // publishes nothing; the barrier does
      if (begin >= in_.vertices()) return;
      auto const end = std::min<std::uint64_t>(begin + block, in_.vertices());
      for (auto at = begin; at < end; ++at) row(at);
    }
  }

  float pulled(std::uint64_t row) const {
    float value[4] = {};
    auto edge = in_.offsets[row];
    auto const end = in_.offsets[row + 1];
    for (; edge + 4 <= end; edge += 4) {
      for (int k = 0; k < 4; ++k) value[k] += on_.share[in_.targets[edge + static_cast<std::uint64_t>(k)]];
    }
    for (; edge < end; ++edge) value[0] += on_.share[in_.targets[edge]];
    return (value[0] + value[1]) + (value[2] + value[3]);
  }

  double dangling() const {
    double sum = 0;
    for (auto const& each : partial_) sum += each.dangling;
    return sum;
  }

  void work(partial& mine) {
    auto const vertices = static_cast<double>(in_.vertices());
    auto const damping = static_cast<float>(on_.damping);
    each_row(claimed_[0], [&](auto row) { on_.rank[row] = static_cast<float>(1 / vertices); });
    phase_.arrive_and_wait();
    for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) {
      double loose = 0;
      each_row(claimed_[2 * sweep + 1], [&](auto row) {
        on_.share[row] = on_.rank[row] * on_.inverse_degree[row];
        if (on_.inverse_degree[row] == 0) loose += static_cast<double>(on_.rank[row]);
      });
      mine.dangling = loose;
      phase_.arrive_and_wait();
      auto const base = static_cast<float>((1 - on_.damping + on_.damping * dangling()) / vertices);
      double change = 0;
      each_row(claimed_[2 * sweep + 2], [&](auto row) {
        auto const next = base + damping * pulled(row);
        change += static_cast<double>(std::abs(next - on_.rank[row]));
        on_.rank[row] = next;
      });
      mine.change = change;
      phase_.arrive_and_wait();
    }
  }

  pagerank on_;
  csr in_;  // a row: the sources of the edges that enter a vertex
  std::vector<std::atomic<std::uint64_t>> claimed_;
  std::vector<partial> partial_;
  std::barrier<> phase_;
};

/// A graph, its side task, and the plain loop over the task's own arrays, which on CPU threads are memory like any
/// other.
class contest {
 public:
  contest(std::int64_t scale, unsigned threads)
      : executor_(make_executor({.kind = executor_kind::threads, .processors = static_cast<int>(threads)})) {
    csr const graph = generate_kronecker({.scale = static_cast<unsigned>(scale)});
    arrays_ = std::make_unique<pagerank_arrays<pagerank>>(*executor_, graph,
                                                          pagerank_settings{.tolerance = 1e-30, .sweeps = sweeps});
    plain_ = std::make_unique<plain_loop>(arrays_->task(), transpose(graph), threads);
  }

  double plain_ms() {
    arrays_->reset();
    return plain_->run_ms();
  }
  double lull_ms() {
    arrays_->reset();
    solo_run const done = run_to_end(describe(arrays_->task(), "pagerank"), *executor_);
    return std::chrono::duration<double, std::milli>(done.time).count();
  }
  /// L1 distance of the two versions' ranks; both were run once.
  double apart() {
    plain_ms();
    std::vector<float> const plain = arrays_->ranks();
    lull_ms();
    std::vector<float> const lull = arrays_->ranks();
    double sum = 0;
    for (std::size_t vertex = 0; vertex < plain.size(); ++vertex) {
      sum += std::abs(static_cast<double>(plain[vertex]) - static_cast<double>(lull[vertex]));
    }
    return sum;
  }

 private:
  std::unique_ptr<executor> executor_;
  std::unique_ptr<pagerank_arrays<pagerank>> arrays_;
  std::unique_ptr<plain_loop> plain_;
};

void pagerank_cpu(benchmark::State& state) {
  static std::unique_ptr<contest> both;
  static std::vector<std::int64_t> made;  // the arguments that it was made for
  static std::uint64_t round = 0;
  if (std::vector<std::int64_t> const wanted{state.range(0), state.range(1)}; made != wanted) {
    both.reset();
    both = std::make_unique<contest>(wanted[0], static_cast<unsigned>(wanted[1]));
    made = wanted;
    if (double const apart = both->apart(); !(apart < 1e-4)) {  // warms up, too
      state.SkipWithError(("the ranks of the two differ by " + std::to_string(apart) + " (L1)").c_str());
      return;
    }
  }
  for (auto _ : state) {
    double plain = 0;
    double lull = 0;
    take_turns(2, round++,
               [&](std::size_t turn) { (turn == 0 ? plain : lull) = turn == 0 ? both->plain_ms() : both->lull_ms(); });
    state.SetIterationTime(lull / 1e3);
    state.counters["plain_ms"] = plain;
    state.counters["lull_ms"] = lull;
    state.counters["ratio"] = lull / plain;
  }
}
BENCHMARK(pagerank_cpu)
    ->ArgNames({"scale", "threads"})
    ->ArgsProduct({{18, 20}, {static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()))}})
    ->Iterations(1)
    ->Repetitions(15)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
