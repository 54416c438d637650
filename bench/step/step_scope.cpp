// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/step/step_scope.hpp>

#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <lull/bench/guarded.hpp>
#include <lull/bench/side_work/bubble_account.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/measure/turns.hpp>

namespace lull::bench {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr int warm_up_steps = 12;  // more than a site remembers, and a gate of how workers leave
constexpr std::uint64_t min_pairs = 6;

runtime_options options_of(scope_settings const& with) {
  return {.executor = {.kind = executor_kind::cuda},
          .mode = runtime_mode::on,
          .tasks = {type_of(with.task, with.work)},
          .log = log_line,
          .tuning = {.launch = with.launch, .armed_ahead = with.armed_ahead}};
}

struct treatment_times {
  std::vector<double> step_ms;
  std::vector<double> kernel_ns;
  std::uint64_t bubbles = 0;
  std::uint64_t bubbles_ns = 0;

  void add(group_times const& group) {
    step_ms.push_back(group.step_ms);
    kernel_ns.insert(kernel_ns.end(), group.kernel_ns.begin(), group.kernel_ns.end());
    bubbles += group.bubbles;
    bubbles_ns += group.bubbles_ns;
  }
};

struct pairs {
  treatment_times none;
  treatment_times worker;
};

pairs measure_pairs(step_trainer& trainer, runtime& side, scope_settings const& with) {
  pairs found;
  auto const until = clock::now() + std::chrono::duration<double>{with.seconds};
  for (std::uint64_t pair = 0; pair % 2 != 0 || pair < min_pairs || clock::now() < until; ++pair) {
    take_turns(2, pair, [&](std::size_t turn) {  // the same lengths in a pair
      bool const lull = turn == 1;
      (lull ? found.worker : found.none).add(trainer.group(lull ? &side : nullptr, with.group, with.seed + pair));
    });
  }
  return found;
}

/// Sums over bubbles of training.
struct side_figures {
  std::uint64_t items = 0;
  std::uint64_t lease_exits = 0;
  std::uint64_t empty = 0;       // bubbles in which no block found work
  double worked_ns = 0;          // first chunk → leaving, mean over the blocks launched
  std::vector<double> start_us;  // opening → all blocks at work
  std::vector<double> start_armed_us;
  std::vector<double> start_late_us;
  double waited_ms = 0;  // of workers on the device, before bubbles opened

  void add(bubble_report const& one) {
    if (one.waited) waited_ms += static_cast<double>(one.waited->count()) / 1e6;
    items += one.record().items;
    lease_exits += one.record().lease_blocks;
    worked_ns += per_launched_block(one, &bubble_record::stay_ns);
    if (one.record().blocks == 0) {
      ++empty;
      return;
    }
    double const us =
        static_cast<double>(static_cast<std::int64_t>(one.record().last_in_ns - one.record().opened_ns)) / 1e3;
    start_us.push_back(us);
    (one.armed ? start_armed_us : start_late_us).push_back(us);
  }
};

}  // namespace

scope_figures measure_scope(step_trainer& trainer, scope_settings const& with) {
  auto const began = clock::now();
  runtime side{options_of(with)};
  endless_work const work{side, with.task, with.work};
  wait_until_ready(side, trainer.stream());
  std::chrono::duration<double> const made = clock::now() - began;

  bubble_account account{side};
  trainer.group(&side, warm_up_steps, with.seed);
  account.settle();
  runtime_counts const before = side.counts();
  pairs const times = measure_pairs(trainer, side, with);
  side_figures sums;
  for (bubble_report const& one : account.settle()) sums.add(one);
  runtime_counts const after = side.counts();
  std::optional<double> const speed = solo_items_per_ns(account, [&](std::uint64_t ns) { trainer.solo(side, ns); });

  slowdown const cost = paired_slowdown(times.none.step_ms, times.worker.step_ms);
  placement const place = executor_of(side).place();
  auto const bubbles_ns = static_cast<double>(times.worker.bubbles_ns);
  scope_figures found{.step_ms_none = cost.baseline,
                      .step_ms_worker = cost.with_side_tasks,
                      .slowdown_percent = cost.percent,
                      .kernel_ns_none = mean(times.none.kernel_ns),
                      .kernel_ns_worker = mean(times.worker.kernel_ns),
                      .harvest = {},
                      .net = {},
                      .lease_exits = sums.lease_exits,
                      .all = {}};
  if (speed) {
    found.harvest = static_cast<double>(sums.items) / (*speed * bubbles_ns);
    found.net = *found.harvest * place.owned_processors / place.processors;
  }
  auto const maybe = [](std::optional<double> const& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  found.all = {
      {"slowdown_percent", cost.percent},
      {"slowdown_percent_low", cost.ci95_percent->low},
      {"slowdown_percent_high", cost.ci95_percent->high},
      {"pairs", cost.pairs},
      {"step_ms_none", cost.baseline},
      {"step_ms_worker", cost.with_side_tasks},
      {"kernel_ns_none", {{"mean", found.kernel_ns_none}, {"p50", *summarise(times.none.kernel_ns).p50}}},
      {"kernel_ns_worker", {{"mean", found.kernel_ns_worker}, {"p50", *summarise(times.worker.kernel_ns).p50}}},
      {"harvest", maybe(found.harvest)},
      {"net", maybe(found.net)},
      {"worked", sums.worked_ns / bubbles_ns},
      {"items_per_s_alone", maybe(speed ? std::optional{*speed * 1e9} : std::nullopt)},
      {"start_us",
       {{"all", spread(sums.start_us)}, {"armed", spread(sums.start_armed_us)}, {"late", spread(sums.start_late_us)}}},
      {"waited_ms", sums.waited_ms},
      {"lease_exits", sums.lease_exits},
      {"bubbles", times.worker.bubbles},
      {"bubbles_empty", sums.empty},
      {"counts", counts_between(before, after)},
      {"worker_blocks", work.blocks()},
      {"processors", place.processors},
      {"owned_processors", place.owned_processors},
      {"made_s", made.count()},
      {"mode_at_end", side.mode() == runtime_mode::on ? "on" : "off"}};
  return found;
}

}  // namespace lull::bench
