// SPDX-License-Identifier: Apache-2.0
// What side work in the receive waits of a real pipeline costs the training, and what it brings: two processes with a
// GPU each, NCCL between them, 1F1B. Groups of steps with and without side work take turns in one process, until the
// interval of the slowdown is narrow enough. Times are those of rank 0's stream, from a group's first kernel to the
// next group's. Prints one JSON object.
//   scripts/ranks.py 2 build/bin/bench/nccl_pipeline --task compute --graph
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <lull/apps/lull/machine.hpp>
#include <lull/apps/lull/statistics.hpp>
#include <lull/apps/lull/trainer/kernels.hpp>
#include <lull/bench/pipeline/side_work.hpp>
#include <lull/bench/pipeline/stage.hpp>
#include <lull/host/reserved_sms.hpp>
#include <lull/tasks/synthetic.hpp>

namespace {

using namespace lull;
using namespace std::chrono_literals;

constexpr int group_steps = 4;
constexpr std::size_t warm_up_pairs = 4;
constexpr auto patience = 20s;  // for a group of steps
constexpr int resident = 2;     // NCCL's kernels at once: a receive, and a send on the other stream

struct options {
  std::string task = "compute";
  bool graph = false;
  bench::stage_size size;
  int rooms = -1;  // as measured
  double seconds = 40;
  std::uint64_t max_pairs = 4000;
  std::uint64_t min_steps = 1000;
  double half_width = 0.2;  // per cent
  int verify_steps = 200;
  int limit = 95;
  bool check = false;
};

enum class treatment { none, worker };

/// Clocks and power, looked at from time to time.
class gpu_samples {
 public:
  explicit gpu_samples(int device) : monitor_(bus_id(device)) {}

  void take() {
    auto const now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + 250ms;
    samples_.push_back(monitor_.sample());
  }
  nlohmann::json end() {
    gpu_state const over = summarise(samples_);
    samples_.clear();
    nlohmann::json made = nlohmann::json::object();
    if (over.sm_mhz) made["sm_mhz"] = *over.sm_mhz;
    if (over.power_w) made["power_w"] = *over.power_w;
    if (over.power_capped) made["power_capped"] = *over.power_capped;
    return made;
  }

 private:
  static std::string bus_id(int device) {
    char text[32] = {};
    LULL_CUDA(cudaDeviceGetPCIBusId(text, sizeof text, device));
    return text;
  }
  gpu_monitor monitor_;
  std::vector<gpu_state> samples_;
  std::chrono::steady_clock::time_point next_{};
};

/// Groups of steps, enqueued about a group ahead of the device.
class trial {
 public:
  trial(bench::stage& stage, runtime& side, bool graph) : stage_(stage), side_(side) {
    if (!graph) return;
    plain_ = std::make_unique<bench::captured_step>(stage, nullptr);
    filled_ = std::make_unique<bench::captured_step>(stage, &side);
  }

  void group(treatment what) {
    if (!marks_.empty()) stage_.wait_for(marks_.back().get(), patience);
    mark();
    for (int i = 0; i < group_steps; ++i) step(what);
  }
  void end() {
    mark();
    stage_.finish(patience);
  }
  /// Milliseconds of the groups that are over.
  std::vector<double> times() const {
    std::vector<double> found;
    for (std::size_t i = 0; i + 1 < marks_.size(); ++i) {
      if (cudaEventQuery(marks_[i + 1].get()) != cudaSuccess) {
        cudaGetLastError();  // not ready
        break;
      }
      float ms = 0;
      LULL_CUDA(cudaEventElapsedTime(&ms, marks_[i].get(), marks_[i + 1].get()));
      found.push_back(static_cast<double>(ms));
    }
    return found;
  }
  void forget() { marks_.clear(); }

 private:
  void mark() { LULL_CUDA(cudaEventRecord(marks_.emplace_back(event_timing::on).get(), stage_.stream())); }
  void step(treatment what) {
    bool const fills = what == treatment::worker;
    if (plain_ == nullptr) {
      stage_.step(fills ? &side_ : nullptr, bench::last_send::flies);
    } else {
      (fills ? filled_ : plain_)->launch(stage_.stream());
    }
  }

  bench::stage& stage_;
  runtime& side_;
  std::unique_ptr<bench::captured_step> plain_;
  std::unique_ptr<bench::captured_step> filled_;
  std::vector<cuda_event> marks_;
};

/// Which treatment a pair begins with changes from pair to pair, so that a drift hits both alike.
treatment of_group(std::size_t group) {
  bool const second = group % 2 == 1;
  bool const swapped = group / 2 % 2 == 1;
  return second != swapped ? treatment::worker : treatment::none;
}

/// Of the pairs that are complete, less those that warm up; nothing before there are two.
std::optional<slowdown> slowdown_of(std::vector<double> const& groups) {
  std::vector<double> none;
  std::vector<double> worker;
  for (std::size_t pair = warm_up_pairs; 2 * pair + 1 < groups.size(); ++pair) {
    for (std::size_t g : {2 * pair, 2 * pair + 1})
      (of_group(g) == treatment::none ? none : worker).push_back(groups[g] / group_steps);
  }
  if (none.size() < 2) return std::nullopt;
  return paired_slowdown(none, worker);
}

double half_width(slowdown const& found) { return (found.ci95_percent->high - found.ci95_percent->low) / 2; }

std::uint64_t steps_in(slowdown const& found) { return found.pairs * 2 * group_steps; }

/// Turns of both treatments until rank 0 has seen enough. Collective.
std::vector<double> take_turns(trial& runs, rank_place const& me, rendezvous& meeting, bench::side_work& work,
                               gpu_samples& gpu, options const& with) {
  runs.forget();
  work.begin();
  auto const until = std::chrono::steady_clock::now() + std::chrono::duration<double>{with.seconds};
  for (std::size_t pair = 0;; ++pair) {
    bool enough = pair >= with.max_pairs + warm_up_pairs || std::chrono::steady_clock::now() >= until;
    if (me.rank == 0 && !enough) {
      std::optional<slowdown> const found = slowdown_of(runs.times());
      enough = found && steps_in(*found) >= with.min_steps && half_width(*found) <= with.half_width;
    }
    if (meeting.from_first(enough)) break;
    for (std::size_t g : {2 * pair, 2 * pair + 1}) runs.group(of_group(g));
    work.collect();
    gpu.take();
  }
  runs.end();
  return runs.times();
}

/// What comes of so many steps from the start.
std::uint64_t checksum_after(trial& runs, bench::stage& stage, treatment what, int steps) {
  runs.forget();
  stage.reset();
  for (int done = 0; done < steps; done += group_steps) runs.group(what);
  runs.end();
  return stage.checksum();
}

nlohmann::json figures(std::vector<double> const& groups) {
  std::optional<slowdown> const found = slowdown_of(groups);
  if (!found) throw limit_error{"fewer than two pairs of groups were done in the time: give --seconds more"};
  return {{"slowdown_percent", found->percent},
          {"slowdown_percent_low", found->ci95_percent->low},
          {"slowdown_percent_high", found->ci95_percent->high},
          {"half_width_percent", half_width(*found)},
          {"pairs", found->pairs},
          {"steps", steps_in(*found)},
          {"step_ms_none", found->baseline},
          {"step_ms_worker", found->with_side_tasks}};
}

nlohmann::json describe(room_need const& need, int kept) {
  return {{"kept_off", kept},
          {"measured", need.rooms},
          {"kernels", need.kernels},
          {"resident", need.resident},
          {"channels", need.largest.blocks},
          {"threads", need.largest.threads},
          {"cluster", need.largest.cluster},
          {"registers", need.largest.registers},
          {"shared_bytes", need.largest.shared_bytes}};
}

/// Everybody's text on rank 0.
std::vector<std::string> texts_to_first(rendezvous& meeting, std::string const& mine) {
  struct page {
    char text[32'768];
  };
  auto const sent = std::make_unique<page>();
  if (mine.size() >= sizeof sent->text) throw limit_error{"a rank's report is longer than 32 KiB"};
  std::copy(mine.begin(), mine.end(), sent->text);
  std::vector<std::string> all;
  for (page const& each : meeting.to_first(*sent)) all.emplace_back(each.text);
  return all;
}

nlohmann::json run_rank(rank_place const& me, options const& with, rendezvous& meeting) {
  trainer::load();
  bench::stage stage{me, meeting, with.size};
  gpu_samples gpu{me.local};
  stage.reset();
  for (int i = 0; i < 2; ++i)
    stage.step(nullptr, bench::last_send::is_waited_for);  // loads kernels, makes NCCL's connections
  stage.exchange(stage.stream());
  stage.finish(60s);

  room_need const need = measure_rooms(
      me.local, [&](stream_handle stream) { stage.exchange(static_cast<cudaStream_t>(stream)); }, resident);
  fprintf(stderr, "rank %d: %s\n", me.rank, need.text.c_str());
  int const rooms = with.rooms >= 0 ? with.rooms : need.rooms;
  bool const computes = with.task == "compute";
  runtime side{{.machine = {.kind = executor_kind::cuda, .device = me.local, .rooms = rooms},
                .tasks = {computes ? type_of<compute_task>() : type_of<streaming_task>()},
                .log = [&](std::string_view line) {
                  fprintf(stderr, "rank %d: %.*s\n", me.rank, static_cast<int>(line.size()), line.data());
                }}};
  if (side.mode() != runtime_mode::on)
    throw usage_error{"LULL in the environment switches side work off: there is nothing to measure"};
  auto const kind = computes ? bench::side_work::kind::compute : bench::side_work::kind::streaming;
  bench::side_work work{side, kind, 1000ms, [&] { gpu.take(); }};
  nlohmann::json const gpu_solo = gpu.end();
  auto const give_up = std::chrono::steady_clock::now() + 10s;
  while (!side.ready(stage.stream())) {
    if (std::chrono::steady_clock::now() >= give_up) throw limit_error{"the side task's job was not ready within 10 s"};
    std::this_thread::sleep_for(1ms);
  }
  meeting.barrier();
  trial runs{stage, side, with.graph};
  std::this_thread::sleep_for(100ms);  // the job reaches a graph's slots in the dispatcher's time
  meeting.barrier();

  std::uint64_t const expected = checksum_after(runs, stage, treatment::none, with.verify_steps);
  std::uint64_t const found = checksum_after(runs, stage, treatment::worker, with.verify_steps);
  std::uint64_t const again = checksum_after(runs, stage, treatment::none, with.verify_steps);
  meeting.barrier();
  std::vector<double> const groups = take_turns(runs, me, meeting, work, gpu, with);
  std::this_thread::sleep_for(50ms);  // for the last records
  work.collect();

  char sum[32];
  std::snprintf(sum, sizeof sum, "%016llx", static_cast<unsigned long long>(found));
  cudaDeviceProp about{};
  LULL_CUDA(cudaGetDeviceProperties(&about, me.local));
  placement const place = side.machine().place();
  nlohmann::json made = figures(groups);
  made["rank"] = me.rank;
  made["gpu"] = about.name;
  made["gpu_alone"] = gpu_solo;
  made["gpu_training"] = gpu.end();
  made["rooms"] = describe(need, rooms);
  made["sms"] = {{"all", place.processors}, {"owned", place.owned_processors}, {"how", place.how}};
  made["checksum"] = sum;
  made["repeats"] = expected == again;  // the training by itself, without side work
  made["bit_equal"] = found == expected;
  made["bubbles"] = work.report();
  made["mode_at_end"] = side.mode() == runtime_mode::on ? "on" : "off";
  meeting.barrier();  // nobody leaves while the other's sends are on their way
  return made;
}

/// One object of both ranks' figures; the slowdown is rank 0's, whose stream begins and ends a step.
nlohmann::json joined(std::vector<std::string> const& texts, options const& with) {
  nlohmann::json ranks = nlohmann::json::array();
  for (std::string const& each : texts) ranks.push_back(nlohmann::json::parse(each));
  nlohmann::json made{{"task", with.task},
                      {"mode", with.graph ? "graph" : "streams"},
                      {"nccl", NCCL_VERSION_CODE},
                      {"group_steps", group_steps},
                      {"verify_steps", with.verify_steps},
                      {"size",
                       {{"tokens", with.size.tokens},
                        {"width", with.size.width},
                        {"layers", with.size.layers},
                        {"microbatches", with.size.microbatches}}}};
  for (char const* key : {"slowdown_percent", "slowdown_percent_low", "slowdown_percent_high", "half_width_percent",
                          "pairs", "steps", "step_ms_none", "step_ms_worker"}) {
    made[key] = ranks.front().at(key);
  }
  std::uint64_t lease_exits = 0;
  double bubbles_ms = 0;
  double harvested_ms = 0;
  double worked_ms = 0;
  bool equal = true;
  for (nlohmann::json const& each : ranks) {
    nlohmann::json const& bubbles = each.at("bubbles");
    double const ms = bubbles.at("ms").get<double>();
    lease_exits += bubbles.at("lease_exits").get<std::uint64_t>();
    bubbles_ms += ms;
    harvested_ms += ms * bubbles.value("harvest", 0.0);
    worked_ms += ms * bubbles.value("worked", 0.0);
    equal = equal && each.at("bit_equal").get<bool>();
  }
  made["lease_exits"] = lease_exits;
  // Of what the SMs outside rooms would do in that time alone, at the clock they have alone; and of their time.
  made["harvest"] = bubbles_ms > 0 ? harvested_ms / bubbles_ms : 0.0;
  made["worked"] = bubbles_ms > 0 ? worked_ms / bubbles_ms : 0.0;
  double const worker_steps = group_steps * (made.at("pairs").get<double>() + static_cast<double>(warm_up_pairs));
  // Of both ranks' time.
  made["bubble_share"] = bubbles_ms / (2 * made.at("step_ms_worker").get<double>() * worker_steps);
  made["bit_equal"] = equal;
  made["narrow_enough"] = made.at("half_width_percent").get<double>() <= with.half_width;
  made["ranks"] = std::move(ranks);
  return made;
}

int run(options const& with) {
  rank_place const me = rank_from_environment();
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < me.local_world || me.world != 2) {
    fprintf(stderr,
            "nccl_pipeline: NOT RUN: it takes two ranks with a GPU each; there are %d ranks, and %d GPUs here\n",
            me.world, gpus);
    return 77;
  }
  LULL_CUDA(cudaSetDevice(me.local));
  rendezvous meeting{me};
  nlohmann::json const mine = run_rank(me, with, meeting);
  std::vector<std::string> const texts = texts_to_first(meeting, mine.dump());
  meeting.barrier();
  if (me.rank != 0) return 0;
  nlohmann::json const all = joined(texts, with);
  printf("%s\n", all.dump(1).c_str());
  bool const sound = all.at("bit_equal").get<bool>() && all.at("harvest").get<double>() > 0;
  return with.check && !sound ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What side work costs a pipeline over NCCL. Start it once a rank, by scripts/ranks.py."};
  options with;
  app.add_option("--task", with.task, "compute-bound or bound by HBM")->check(CLI::IsMember({"compute", "streaming"}));
  app.add_flag("--graph", with.graph, "each rank captures its step and replays it");
  app.add_option("--seconds", with.seconds, "measure at most so long")->check(CLI::Range(1.0, 600.0));
  app.add_option("--pairs", with.max_pairs, "measure at most so many")->check(CLI::Range(2, 100'000));
  app.add_option("--steps", with.min_steps, "measure at least so many")->check(CLI::Range(16, 1'000'000));
  app.add_option("--half-width", with.half_width, "of the slowdown's 95 % interval, per cent: enough")
      ->check(CLI::Range(0.001, 100.0));
  app.add_option("--verify-steps", with.verify_steps, "whose results are compared")->check(CLI::Range(4, 100'000));
  app.add_flag("--check", with.check, "fail where side work changed a result, or none was done");
  app.add_option("--limit", with.limit, "the process ends after so many seconds")->check(CLI::Range(10, 3600));
  app.add_option("--rooms", with.rooms, "groups of SMs kept off; left out: as measured")->check(CLI::Range(0, 14));
  app.add_option("--tokens", with.size.tokens, "of a micro-batch")->check(CLI::Range(128, 65'536));
  app.add_option("--width", with.size.width, "of a layer")->check(CLI::Range(128, 16'384));
  app.add_option("--layers", with.size.layers, "of a stage")->check(CLI::Range(1, 64));
  app.add_option("--microbatches", with.size.microbatches, "of a step")->check(CLI::Range(1, 32));
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  end_process_after(std::chrono::seconds{with.limit});
  end_process_on_error();
  return run(with);
}
