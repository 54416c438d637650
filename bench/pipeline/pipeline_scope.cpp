// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/pipeline/pipeline_scope.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <lull/bench/side_work/bubble_account.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/measure/gpu_samples.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/measure/turns.hpp>

namespace lull::bench {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr int group_steps = 4;
constexpr int warm_up_groups = 3;  // more steps than a site remembers
constexpr int min_quartets = 3;    // of groups
constexpr auto patience = 20s;     // for a group of steps
constexpr auto until_told =
    30ms;  // replayed bubbles, which are not counted as opened, are read some milliseconds later

enum class treatment { none, worker };

nlohmann::json clocks_and_power(gpu_state const& over) {
  nlohmann::json made = nlohmann::json::object();
  if (over.sm_mhz) made["sm_mhz"] = *over.sm_mhz;
  if (over.power_w) made["power_w"] = *over.power_w;
  if (over.power_capped) made["power_capped"] = *over.power_capped;
  return made;
}

/// Groups of steps, enqueued about a group before the device runs them.
class trial {
 public:
  trial(stage& trained, runtime& side, bool graph) : stage_(trained), side_(side) {
    if (!graph) return;
    plain_ = std::make_unique<captured_step>(trained, nullptr);
    filled_ = std::make_unique<captured_step>(trained, &side);
  }

  void group(treatment what) {
    if (!marks_.empty()) stage_.wait_for(marks_.back().get(), patience);
    mark();
    for (int i = 0; i < group_steps; ++i) step(what);
  }
  /// Returns milliseconds a step of each group since the last call, when all are done.
  std::vector<double> end() {
    mark();
    stage_.finish(patience);
    std::vector<double> found;
    for (std::size_t i = 0; i + 1 < marks_.size(); ++i) {
      float ms = 0;
      LULL_CUDA(cudaEventElapsedTime(&ms, marks_[i].get(), marks_[i + 1].get()));
      found.push_back(static_cast<double>(ms) / group_steps);
    }
    marks_.clear();
    return found;
  }

 private:
  void mark() { LULL_CUDA(cudaEventRecord(marks_.emplace_back(event_timing::on).get(), stage_.stream())); }
  void step(treatment what) {
    bool const fills = what == treatment::worker;
    if (plain_ == nullptr) {
      stage_.step(fills ? &side_ : nullptr, last_send::flies);
    } else {
      (fills ? filled_ : plain_)->launch(stage_.stream());
    }
  }

  stage& stage_;
  runtime& side_;
  std::unique_ptr<captured_step> plain_;
  std::unique_ptr<captured_step> filled_;
  std::vector<cuda_event> marks_;
};

/// What comes of so many steps from the start.
std::uint64_t checksum_after(trial& runs, stage& trained, treatment what, int steps) {
  trained.reset();
  for (int done = 0; done < steps; done += group_steps) runs.group(what);
  runs.end();
  return trained.checksum();
}

/// Whether side work changes a result.
nlohmann::json compare(trial& runs, stage& trained, rendezvous& meeting, int steps) {
  std::array<std::uint64_t, 3> sums{};
  for (std::size_t i = 0; treatment const what : {treatment::none, treatment::worker, treatment::none})
    sums[i++] = checksum_after(runs, trained, what, steps);
  meeting.barrier();
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sums[1]));
  return {{"checksum", text},
          {"repeats", sums[0] == sums[2]},  // the training by itself, without side work
          {"bit_equal", sums[0] == sums[1]}};
}

constexpr std::array treatments{treatment::none, treatment::worker};
constexpr std::size_t quartet = 2 * treatments.size();  // two rounds, which turn about

struct group_figures {
  std::vector<double> none_ms;
  std::vector<double> worker_ms;
};

/// The first quartet, in which the pipeline fills, is left out.
group_figures groups_by_turns(trial& runs, rank_place const& me, rendezvous& meeting, bubble_account& account,
                              gpu_samples& gpu, double seconds) {
  auto const until = clock::now() + std::chrono::duration<double>{seconds};
  for (int done = 0;; ++done) {
    if (meeting.from_first(me.rank == 0 && done > min_quartets && clock::now() >= until)) break;
    for (std::uint64_t const round : {0, 1})
      take_turns(treatments.size(), round, [&](std::size_t turn) { runs.group(treatments[turn]); });
    account.collect();
    gpu.take();
  }
  std::vector<double> const times = runs.end();
  group_figures found;
  for (std::size_t i = quartet; i < times.size(); ++i)
    (i % quartet == 0 || i % quartet == quartet - 1 ? found.none_ms : found.worker_ms).push_back(times[i]);
  return found;
}

/// Of the bubbles in a scope's steps.
struct bubble_sums {
  struct at_site {
    std::vector<double> us;
    std::uint64_t unknown = 0;  // bubbles of which no length is known
  };
  std::map<std::string, at_site> sites;
  double ms = 0;
  double worked_ms = 0;  // first chunk → leaving, mean over the blocks launched
  std::uint64_t items = 0;
  std::uint64_t lease_exits = 0;
  std::uint64_t host_late = 0;

  void add(bubble_report const& one) {
    at_site& at = sites[one.site];
    lease_exits += one.record().lease_blocks;
    items += one.record().items;
    if (one.host_ahead && !*one.host_ahead) ++host_late;
    if (one.length.count() == 0) {
      ++at.unknown;
      return;
    }
    at.us.push_back(static_cast<double>(one.length.count()) / 1e3);
    ms += static_cast<double>(one.length.count()) / 1e6;
    worked_ms += per_launched_block(one, &bubble_record::stay_ns) / 1e6;
  }
  nlohmann::json told() const {
    nlohmann::json by_site = nlohmann::json::object();
    for (auto const& [name, site] : sites) {
      distribution const lengths = summarise(site.us);
      nlohmann::json& made = by_site[name] = {{"bubbles", lengths.n}, {"unknown", site.unknown}};
      if (lengths.n != 0) made.update({{"p50_us", *lengths.p50}, {"p99_us", *lengths.p99}});
    }
    return {{"ms", ms},
            {"worked_ms", worked_ms},
            {"items", items},
            {"lease_exits", lease_exits},
            {"host_late", host_late},
            {"sites", std::move(by_site)}};
  }
};

/// The trainer's stream waits for `ns` in a bubble. The host waits for the stream.
void long_bubble(stage& trained, runtime& side, std::uint64_t ns) {
  {
    bubble const idle{side, trained.stream(), site{"alone"}};
    trainer::wait_one_thread(trained.stream(), ns, nullptr);
  }
  trained.finish(patience);
}

runtime_options options_of(rank_place const& me, pipeline_scope_settings const& with) {
  return {.executor = {.kind = executor_kind::cuda, .device = me.local, .reserved_groups = with.reserved_groups},
          .mode = runtime_mode::on,
          .tasks = {type_of(with.task)},
          .log =
              [rank = me.rank](std::string_view line) {
                std::fprintf(stderr, "rank %d: %.*s\n", rank, static_cast<int>(line.size()), line.data());
              },
          .tuning = {.min_bubble = with.min_bubble, .rest_before_close = with.rest_before_close}};
}

}  // namespace

nlohmann::json measure_pipeline_scope(stage& trained, rank_place const& me, rendezvous& meeting,
                                      pipeline_scope_settings const& with) {
  runtime side{options_of(me, with)};
  gpu_samples gpu{executor_of(side).place().pci_bus_id};
  endless_work const work{side, with.task};
  wait_until_ready(side, trained.stream());
  meeting.barrier();
  trial runs{trained, side, with.graph};
  std::this_thread::sleep_for(100ms);  // the job reaches a graph's slots in the dispatcher's time
  meeting.barrier();

  nlohmann::json made{{"rank", me.rank}};
  if (with.verify_steps > 0) made.update(compare(runs, trained, meeting, with.verify_steps));
  bubble_account account{side};
  for (int i = 0; i < warm_up_groups; ++i) runs.group(treatment::worker);
  runs.end();
  std::this_thread::sleep_for(until_told);
  account.settle();
  meeting.barrier();
  runtime_counts const before = side.counts();
  group_figures const times = groups_by_turns(runs, me, meeting, account, gpu, with.seconds);
  std::this_thread::sleep_for(until_told);
  bubble_sums sums;
  for (bubble_report const& one : account.settle()) sums.add(one);
  runtime_counts const after = side.counts();
  meeting.barrier();
  auto const speed = solo_items_per_ns(account, [&](std::uint64_t ns) { long_bubble(trained, side, ns); });

  placement const place = executor_of(side).place();
  made["none_ms"] = times.none_ms;
  made["worker_ms"] = times.worker_ms;
  made["steps_with_worker"] = group_steps * (times.worker_ms.size() + quartet / 2);
  made["bubbles"] = sums.told();
  made["items_per_ms_alone"] = speed ? nlohmann::json(*speed * 1e6) : nlohmann::json(nullptr);
  made["counts"] = counts_between(before, after);
  made["gpu_training"] = clocks_and_power(gpu.summary());
  made["sms"] = {{"all", place.processors}, {"owned", place.owned_processors}, {"how", place.how}};
  made["mode_at_end"] = side.mode() == runtime_mode::on ? "on" : "off";
  meeting.barrier();  // nobody leaves while the other's sends are on their way
  return made;
}

}  // namespace lull::bench
