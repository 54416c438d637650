// SPDX-License-Identifier: Apache-2.0
// The job `images` from folder to folder beside its own limit: the same number of threads that decode the same files
// and encode results of the same size, with no machine between. whole_job/from:W/to:N; each iteration is a pair, who
// goes first alternates. files_per_s, limit_files_per_s; ratio: job / limit, 1 where the machine costs nothing. Wall
// time, with `prepare`, but for the first pair, in which memory is pinned; results are flushed to the disk.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <lull/bench/images/photographs.hpp>
#include <lull/bench/program.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/measure/turns.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tasks/images/codec/read_image.hpp>
#include <lull/tasks/images/codec/write_image.hpp>
#include <lull/tasks/images/images_owner.hpp>

namespace {

using namespace lull;
namespace fs = std::filesystem;
using watch = std::chrono::steady_clock;

struct asked {
  std::string folder = "whole_job_files";
  std::string executor = "threads";
  unsigned count = 64;
  std::uint32_t from = 3840;
  std::uint32_t to = 1920;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  int pairs = 5;
};

constexpr unsigned different = 32;       // photographs; further files are copies of these
constexpr std::size_t samples_kept = 8;  // results whose pixels the limit encodes in turn

double seconds_since(watch::time_point begin) { return std::chrono::duration<double>(watch::now() - begin).count(); }

std::string name_of(unsigned i) { return "photograph" + std::to_string(i) + ".jpg"; }

class contest {
 public:
  explicit contest(asked const& given)
      : given_(given),
        in_(fs::path{given.folder} / "in"),
        out_(fs::path{given.folder} / "out"),
        limit_out_(fs::path{given.folder} / "limit"),
        executor_(make_executor({.kind = given.executor == "cuda" ? executor_kind::cuda : executor_kind::threads,
                                 .reserved_groups = 0,
                                 .solo = true})) {
    for (fs::path const& each : {in_, out_, limit_out_}) {
      fs::remove_all(each);
      fs::create_directories(each);
    }
    for (unsigned i = 0; i < given.count; ++i) {
      if (i >= different) {
        fs::copy_file(in_ / name_of(i % different), in_ / name_of(i));
        continue;
      }
      image const made = bench::photograph(given.from, given.from * 9 / 16, 3, i + 1);
      write_image((in_ / name_of(i)).string(), image_kind::jpeg, made.shape, made.pixels, made.extras);
    }
    job_s();
    for (unsigned i = 0; i < given.count && i < samples_kept; ++i)
      results_.push_back(decode((out_ / name_of(i)).string()));
  }

  double job_s() {
    task_entry const entry = images_entry();
    option_values values{entry.options};
    values.set("in", in_.string());
    values.set("out", out_.string());
    values.set("width", std::to_string(given_.to));
    values.set("threads", std::to_string(given_.threads));
    auto const begin = watch::now();
    executor_->adopt_thread();
    auto const owner = entry.make(values);
    owner->prepare(*executor_);
    solo_run const done = run_to_end(*owner, *executor_, {.at_most = std::chrono::nanoseconds::max()});
    double const took = seconds_since(begin);
    if (!done.finished || owner->failures() != 0)
      throw device_error{0, "the job did not finish all files", "images", in_.string()};
    return took;
  }

  double limit_s() {
    std::atomic<unsigned> next{0};
    auto const begin = watch::now();
    {
      std::vector<std::jthread> threads;
      for (unsigned t = 0; t < given_.threads; ++t) {
        threads.emplace_back([&] {
          for (unsigned i = next++; i < given_.count; i = next++) {
            std::string const from = (in_ / name_of(i)).string();
            image const read = decode(from);
            benchmark::DoNotOptimize(read.pixels.data());
            image const& result = results_[i % results_.size()];
            write_image((limit_out_ / name_of(i)).string(), image_kind::jpeg, result.shape, result.pixels,
                        result.extras);
          }
        });
      }
    }
    return seconds_since(begin);
  }

 private:
  asked const given_;
  fs::path const in_;
  fs::path const out_;
  fs::path const limit_out_;
  std::unique_ptr<executor> executor_;
  std::vector<image> results_;
};

void report(benchmark::State& state, std::string const& name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  state.counters[name + "_p50"] = median(values);
  state.counters[name + "_min"] = values.front();
  state.counters[name + "_max"] = values.back();
}

void measure(benchmark::State& state, asked const& given) try {
  contest both{given};
  std::vector<double> job;
  std::vector<double> limit;
  std::vector<double> ratio;
  for (auto _ : state) {
    for (int pair = -1; pair < given.pairs; ++pair) {  // the first warms up
      double theirs = 0;
      double ours = 0;
      take_turns(2, static_cast<std::uint64_t>(pair + 2),
                 [&](std::size_t turn) { (turn == 0 ? theirs : ours) = turn == 0 ? both.limit_s() : both.job_s(); });
      if (pair < 0) continue;
      job.push_back(given.count / ours);
      limit.push_back(given.count / theirs);
      ratio.push_back(theirs / ours);
    }
  }
  report(state, "files_per_s", job);
  report(state, "limit_files_per_s", limit);
  report(state, "ratio", ratio);
  state.counters["files"] = given.count;
  state.counters["threads"] = given.threads;
  state.counters["pairs"] = given.pairs;
  state.SetLabel("executor " + given.executor);
} catch (std::exception const& reason) {
  state.SkipWithError(reason.what());
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  bench::program here{"whole_job", "The image job from folder to folder, beside decoding and encoding alone"};
  CLI::App& app = here.app;
  asked given;
  app.add_option("--folder", given.folder, "for its files; what stands in its folders in, out and limit is lost");
  app.add_option("--executor", given.executor)->check(CLI::IsMember({"threads", "cuda"}));
  app.add_option("--count", given.count, "files")->check(CLI::Range(1, 100'000));
  app.add_option("--from", given.from, "width of the photographs, 16:9")->check(CLI::Range(16, 32'768));
  app.add_option("--to", given.to, "width of the results")->check(CLI::Range(1, 32'768));
  app.add_option("--threads", given.threads, "that decode and encode")->check(CLI::Range(1, 256));
  app.add_option("--pairs", given.pairs)->check(CLI::Range(1, 1000));
  return here.run(argc, argv, [&] {
    if (given.executor == "cuda") bench::need_gpu();
    std::string const name = "whole_job/from:" + std::to_string(given.from) + "/to:" + std::to_string(given.to);
    benchmark::RegisterBenchmark(name.c_str(), [&given](benchmark::State& state) { measure(state, given); })
        ->Iterations(1)
        ->Unit(benchmark::kSecond);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  });
}
