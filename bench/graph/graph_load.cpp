// SPDX-License-Identifier: Apache-2.0
// How fast a graph is ready: graph_load/kind:K/threads:T reads a text of 100 MB (kind 0: .el, 1: .wel),
// graph_generate/scale:S/threads:T makes a Kronecker graph. Bytes a second are those of the text, by wall clock;
// cpu_MB_per_s the same by CPU time of all threads together ("a core"). anon_ratio: the most anonymous memory that the
// process held meanwhile, over the finished graph; taken in a run of its own, whose time does not count.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <lull/graph/generate.hpp>
#include <lull/graph/load.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

constexpr std::uint64_t text_bytes = 100'000'000;
constexpr std::uint32_t vertices = 1U << 20;

/// Texts of random edges, made once; gone with the process.
class text_folder {
 public:
  text_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "lull_bench_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("no temporary folder: " + name);
    }
    path_ = name;
  }
  ~text_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  text_folder(text_folder const&) = delete;
  text_folder& operator=(text_folder const&) = delete;

  std::string text(bool weighted) const {
    auto const path = path_ / (weighted ? "random.wel" : "random.el");
    if (!std::filesystem::exists(path)) {
      std::ofstream file{path, std::ios::binary};
      std::mt19937_64 random{1};
      std::string lines;
      char number[16];
      auto const add = [&](std::uint64_t value, char behind) {
        lines.append(number, std::to_chars(number, number + sizeof number, value).ptr);
        lines += behind;
      };
      for (std::uint64_t written = 0; written < text_bytes; written += lines.size()) {
        lines.clear();
        for (int line = 0; line < 1000; ++line) {
          add(random() % vertices, ' ');
          add(random() % vertices, weighted ? ' ' : '\n');
          if (weighted) {
            add(random() % 256, '\n');
          }
        }
        file << lines;
      }
    }
    return path.string();
  }

 private:
  std::filesystem::path path_;
};

std::uint64_t anonymous_bytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) {
      return std::stoull(line.substr(8)) * 1024;
    }
  }
  return 0;
}

/// The most anonymous memory while `make` runs, over the graph it returns.
template <class Make>
double anon_ratio(Make const& make) {
  std::atomic<bool> done{false};
  std::uint64_t most = 0;
  std::jthread watch{[&] {
    while (!done.load(std::memory_order_relaxed)) {
      most = std::max(most, anonymous_bytes());
      std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
  }};
  auto const graph = make();
  done.store(true, std::memory_order_relaxed);
  watch.join();
  return static_cast<double>(most) / static_cast<double>(graph.size_bytes());
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void graph_load(benchmark::State& state) {
  static text_folder const folder;
  auto const path = folder.text(state.range(0) == 1);
  auto const size = std::filesystem::file_size(path);
  lull::load_options const options{.threads = static_cast<unsigned>(state.range(1))};
  state.counters["anon_ratio"] = anon_ratio([&] { return lull::load_graph(path, options); });  // warms up, too
  auto const begin = cpu_seconds();
  for (auto _ : state) {
    auto const graph = lull::load_graph(path, options);
    benchmark::DoNotOptimize(graph.targets.data());
  }
  auto const bytes = static_cast<double>(size) * static_cast<double>(state.iterations());
  state.counters["cpu_MB_per_s"] = bytes / 1e6 / (cpu_seconds() - begin);
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(graph_load)
    ->ArgNames({"kind", "threads"})
    ->ArgsProduct({{0, 1}, {1, 2}})
    ->Iterations(1)
    ->Repetitions(9)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void graph_generate(benchmark::State& state) {
  lull::generate_options const options{.scale = static_cast<unsigned>(state.range(0)),
                                       .threads = static_cast<unsigned>(state.range(1))};
  for (auto _ : state) {
    auto const graph = lull::generate_kronecker(options);
    benchmark::DoNotOptimize(graph.targets.data());
    state.counters["edges"] = static_cast<double>(graph.edges());
  }
}
BENCHMARK(graph_generate)
    ->ArgNames({"scale", "threads"})
    ->Args({22, 2})
    ->Iterations(1)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
