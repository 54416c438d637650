// SPDX-License-Identifier: Apache-2.0
// What side work in the receive waits of a real pipeline costs the training, and what it brings: a process a GPU, NCCL
// between them, any schedule of `lull harvest`. Scope after scope in one process, the tasks in turn; in each, groups of
// steps with and without side work alternate. Times are those of rank 0's stream. Prints one JSON object, with what
// each rank told of each scope; bench/lab sums it up. Ends with 1 where side work changed a result, or none was done.
//   scripts/ranks.py 2 build/bin/bench/nccl_pipeline --schedule 1f1b --task compute,mlp --graph
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <lull/bench/pipeline/pipeline_scope.hpp>
#include <lull/bench/pipeline/stage.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/reserved_sms.hpp>

namespace {

using namespace lull;
using namespace std::chrono_literals;

constexpr int resident = 2;  // NCCL's kernels at once: a receive, and a send on the other stream

struct options {
  std::vector<std::string> tasks{"compute"};
  std::string schedule = "1f1b";
  std::string dtype = "bf16";
  bool graph = false;
  bench::stage_size size;
  int reserved_groups = -1;  // as measured
  int rest_us = static_cast<int>(default_rest_before_close / 1us);
  int min_bubble_us = static_cast<int>(default_min_bubble / 1us);
  int scopes = 12;
  double seconds = 0;
  int verify_steps = 200;
  int limit = 95;
};

nlohmann::json describe(exchange_need const& need, int kept) {
  return {{"kept_off", kept},
          {"measured", need.reserved_groups},
          {"kernels", need.kernels},
          {"resident", need.resident},
          {"channels", need.largest.blocks},
          {"threads", need.largest.threads},
          {"cluster", need.largest.cluster},
          {"registers", need.largest.registers},
          {"shared_bytes", need.largest.shared_bytes}};
}

/// Everybody's text on rank 0; nothing elsewhere.
std::vector<nlohmann::json> to_first(rendezvous& meeting, nlohmann::json const& mine) {
  struct page {
    char text[32'768];
  };
  auto const sent = std::make_unique<page>();
  std::string const text = mine.dump();
  if (text.size() >= sizeof sent->text)
    throw limit_error{"a rank's figures of a scope are longer than 32 KiB: give fewer --seconds"};
  std::copy(text.begin(), text.end(), sent->text);
  std::vector<nlohmann::json> all;
  for (page const& each : meeting.to_first(*sent)) all.push_back(nlohmann::json::parse(each.text));
  return all;
}

/// What each rank told of a scope.
using told_by_ranks = std::vector<nlohmann::json>;

/// Whether side work was done in each scope of a task, and changed no result.
bool is_sound(std::vector<told_by_ranks> const& scopes) {
  auto const worked = [](nlohmann::json const& each) { return each.at("bubbles").at("worked_ms").get<double>() > 0; };
  auto const is_equal = [](nlohmann::json const& each) {
    return each.value("bit_equal", true) && each.value("repeats", true);
  };
  return std::ranges::all_of(scopes, [&](told_by_ranks const& ranks) {
    return std::ranges::any_of(ranks, worked) && std::ranges::all_of(ranks, is_equal);
  });
}

bench::pipeline_scope_settings settings_of(options const& with, std::string const& task, int reserved_groups,
                                           int scope) {
  return {.task = bench::work_kinds().at(task),
          .graph = with.graph,
          .reserved_groups = reserved_groups,
          .min_bubble = std::chrono::microseconds{with.min_bubble_us},
          .rest_before_close = std::chrono::microseconds{with.rest_us},
          .seconds = with.seconds,
          .verify_steps = scope == 0 ? with.verify_steps : 0};
}

nlohmann::json as_asked(options const& with) {
  return {{"schedule", with.schedule},
          {"dtype", with.dtype},
          {"mode", with.graph ? "graph" : "streams"},
          {"nccl", NCCL_VERSION_CODE},
          {"verify_steps", with.verify_steps},
          {"min_bubble_us", with.min_bubble_us},
          {"rest_us", with.rest_us},
          {"size",
           {{"tokens", with.size.tokens},
            {"width", with.size.width},
            {"layers", with.size.layers},
            {"microbatches", with.size.microbatches}}}};
}

/// Returns whether the figures of all tasks are sound. They are printed before anything is taken down.
bool run_rank(rank_place const& me, options const& with, rendezvous& meeting) {
  trainer::load();
  bench::stage stage{me, meeting, with.size, parse_schedule(with.schedule)};
  stage.reset();
  for (int i = 0; i < 2; ++i)
    stage.step(nullptr, bench::last_send::is_waited_for);  // loads kernels, makes NCCL's connections
  stage.exchange(stage.stream());
  stage.finish(60s);

  exchange_need const need = measure_reserved_groups(
      me.local, [&](stream_handle stream) { stage.exchange(static_cast<cudaStream_t>(stream)); }, resident);
  std::fprintf(stderr, "rank %d: %s\n", me.rank, need.text.c_str());
  int const reserved_groups = with.reserved_groups >= 0 ? with.reserved_groups : need.reserved_groups;
  std::map<std::string, std::vector<told_by_ranks>> told;
  for (int scope = 0; scope < with.scopes; ++scope) {
    for (std::string const& task : with.tasks) {
      auto const mine = measure_pipeline_scope(stage, me, meeting, settings_of(with, task, reserved_groups, scope));
      told[task].push_back(to_first(meeting, mine));
    }
  }
  meeting.barrier();
  if (me.rank != 0) return true;
  nlohmann::json made = as_asked(with);
  cudaDeviceProp about{};
  LULL_CUDA(cudaGetDeviceProperties(&about, me.local));
  made["gpu"] = about.name;
  made["rank_count"] = me.world;
  made["reserved_groups"] = describe(need, reserved_groups);
  made["tasks"] = told;
  std::printf("%s\n", made.dump(1).c_str());
  std::fflush(stdout);
  return std::ranges::all_of(told, [](auto const& task) { return is_sound(task.second); });
}

int run(options const& with) {
  rank_place const me = rank_from_environment();
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < me.local_world || me.world < 2) {
    std::fprintf(
        stderr,
        "nccl_pipeline: NOT RUN: it takes two or more ranks with a GPU each; there are %d ranks, %d GPUs here\n",
        me.world, gpus);
    return 77;
  }
  LULL_CUDA(cudaSetDevice(me.local));
  rendezvous meeting{me};
  return run_rank(me, with, meeting) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What side work costs a pipeline over NCCL. Start it once a rank, by scripts/ranks.py."};
  options with;
  app.add_option("--task", with.tasks, "side tasks, with commas between")
      ->delimiter(',')
      ->check(CLI::IsMember(bench::work_names()));
  app.add_option("--schedule", with.schedule, "order of the pipeline's operations")
      ->check(CLI::IsMember({"gpipe", "1f1b", "interleaved", "zero_bubble"}));
  app.add_option("--dtype", with.dtype, "of the training's numbers")->check(CLI::IsMember({"bf16", "fp32"}));
  app.add_flag("--graph", with.graph, "each rank captures its step and replays it");
  app.add_option("--scopes", with.scopes, "of each task")->check(CLI::Range(2, 64));
  app.add_option("--seconds", with.seconds, "of groups a scope; twelve groups in any case")
      ->check(CLI::Range(0.0, 60.0));
  app.add_option("--verify-steps", with.verify_steps, "whose results are compared, in the first scope; 0: none")
      ->check(CLI::Range(0, 100'000));
  app.add_option("--limit", with.limit, "the process ends after so many seconds")->check(CLI::Range(10, 3600));
  app.add_option("--reserved-groups", with.reserved_groups, "groups of SMs kept off; left out: as measured")
      ->check(CLI::Range(0, 14));
  app.add_option("--min-bubble-us", with.min_bubble_us, "no side work where bubbles are shorter")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--rest-us", with.rest_us, "side work rests so long before a bubble usually closes; 0: never")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000));
  app.add_option("--tokens", with.size.tokens, "of a micro-batch")->check(CLI::Range(128, 65'536));
  app.add_option("--width", with.size.width, "of a layer")->check(CLI::Range(128, 16'384));
  app.add_option("--layers", with.size.layers, "of a stage")->check(CLI::Range(1, 64));
  app.add_option("--microbatches", with.size.microbatches, "of a step")->check(CLI::Range(1, 32));
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  with.size.numbers = with.dtype == "bf16" ? bench::number_kind::bf16 : bench::number_kind::fp32;
  end_process_after(std::chrono::seconds{with.limit});
  end_process_on_error();
  return run(with);
}
