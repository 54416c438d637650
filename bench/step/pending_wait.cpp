// SPDX-License-Identifier: Apache-2.0
// What a wait that is pending on another stream costs each kernel of the trainer's. A chain of short kernels on the
// trainer's stream, a candidate stream that waits for the chain's end; what a kernel of the chain takes longer than in
// a chain right before, without the candidate. Streams, kinds of waits and their order are shuffled. Then the same in
// captured graphs, and how soon a worker starts that waited in each way. Device stamps. One JSON object on standard
// output; times in ns. `lull doctor` measures a part of this, with the same chain.
//   pending_wait --connections 8
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/bench/program.hpp>
#include <lull/bench/step/kernels.hpp>
#include <lull/host/cuda/captured.hpp>
#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/measure/cuda/pending_chain.hpp>
#include <lull/host/measure/cuda/short_kernels.hpp>
#include <lull/host/measure/cuda/stream_words.hpp>
#include <lull/host/measure/cuda/worker_streams.hpp>
#include <lull/host/measure/waiting_cost.hpp>

namespace {

using namespace lull;
using json = nlohmann::ordered_json;

struct arguments {
  int connections = 0;
  int kernels = 900;    // of a chain
  int candidates = 10;  // of each kind of stream
  int repeats = 2;      // of each trial
  int starts = 200;
  double slow_ns = slow_wait_ns;
  std::uint64_t seed = 7;
};

enum class wait_kind { event, host_word, device_word };
constexpr std::array wait_kinds{wait_kind::event, wait_kind::host_word, wait_kind::device_word};
constexpr std::array wait_names{"event", "host_word", "device_word"};

enum class leaf { none, plain, programmatic };
constexpr std::array leaves{leaf::none, leaf::plain, leaf::programmatic};
constexpr std::array leaf_names{"none", "leaf", "programmatic_leaf"};

json spread(std::vector<double> samples, double slow_ns) {
  std::sort(samples.begin(), samples.end());
  auto const at = [&](double p) {
    return samples[std::min(samples.size() - 1, static_cast<std::size_t>(p * static_cast<double>(samples.size())))];
  };
  auto const slow = std::count_if(samples.begin(), samples.end(), [&](double value) { return value > slow_ns; });
  return {{"n", samples.size()},
          {"least", samples.front()},
          {"q1", at(0.25)},
          {"p50", at(0.5)},
          {"q3", at(0.75)},
          {"p99", at(0.99)},
          {"greatest", samples.back()},
          {"slow_share", static_cast<double>(slow) / static_cast<double>(samples.size())}};
}

/// What all trials share.
class bench_waits {
 public:
  explicit bench_waits(arguments const& given) : given_(given) {
    trainer::load();
    bench::load_step_kernels();
    LULL_CUDA(cudaMemset(device_word_.get(), 0, 256));
    LULL_CUDA(cudaDeviceSynchronize());
  }
  ~bench_waits() { cudaDeviceSynchronize(); }
  bench_waits(bench_waits const&) = delete;
  bench_waits& operator=(bench_waits const&) = delete;

  json streams();
  json graphs();
  json starts();

 private:
  struct trial {
    bool own;  // the trainer's stream; else the legacy one
    std::size_t candidate;
    wait_kind kind;
    bool foreign;
  };

  cudaStream_t trainer_of(bool own) const { return own ? own_.get() : nullptr; }
  std::uint32_t* word_of(wait_kind kind) const {
    return kind == wait_kind::host_word ? host_word_.device() : static_cast<std::uint32_t*>(device_word_.get());
  }
  /// The first of a kind; null: there is none.
  stream_handle first_candidate(bool green) const {
    auto const& all = candidates_.all();
    auto const found = std::ranges::find(all, green, &worker_streams::one::green);
    return found == all.end() ? nullptr : found->stream;
  }
  double one_chain(cudaStream_t stream, bool foreign, stream_handle waits, wait_kind kind);
  void capture(leaf what, cuda_graph& into);

  arguments const given_;
  cuda_stream own_{0};
  cuda_stream foreign_{0};
  cuda_event end_{event_timing::off};
  worker_streams candidates_{given_.candidates};
  pending_chain chain_{given_.kernels};
  device_buffer device_word_{256};
  mapped_word host_word_;
  std::uint32_t round_ = 0;  // words only grow
};

/// A null `waits`: no wait but the foreign one, if there is that.
double bench_waits::one_chain(cudaStream_t stream, bool foreign, stream_handle waits, wait_kind kind) {
  ++round_;
  return chain_.kernel_ns(stream, [&] {
    if (foreign) chain_.wait_for_end(foreign_.get());
    if (waits == nullptr) return;
    if (kind == wait_kind::event) return chain_.wait_for_end(waits);
    write_word(stream, word_of(kind),
               round_);  // before the wait: with one connection that would stand before the write
    await_word(static_cast<CUstream>(waits), word_of(kind), round_);
    trainer::nothing(waits);
  });
}

json bench_waits::streams() {
  std::vector<trial> trials;
  for (int repeat = 0; repeat < given_.repeats; ++repeat) {
    for (bool const own : {false, true}) {
      for (std::size_t candidate = 0; candidate < candidates_.all().size(); ++candidate) {
        for (wait_kind const kind : wait_kinds) {
          for (bool const foreign : {false, true}) trials.push_back({own, candidate, kind, foreign});
        }
      }
    }
  }
  std::mt19937_64 random{given_.seed};
  std::shuffle(trials.begin(), trials.end(), random);
  for (int i = 0; i < 3; ++i) {  // warms up
    for (bool const own : {false, true}) one_chain(trainer_of(own), true, first_candidate(false), wait_kind::event);
  }
  json rows = json::array();
  std::vector<double> more[2][3][2][2];  // own, kind, foreign, green
  std::vector<double> bases[2][2];
  for (trial const& each : trials) {
    auto const& candidate = candidates_.all()[each.candidate];
    double const base = one_chain(trainer_of(each.own), each.foreign, nullptr, each.kind);
    double const with = one_chain(trainer_of(each.own), each.foreign, candidate.stream, each.kind);
    bases[each.own][each.foreign].push_back(base);
    more[each.own][static_cast<int>(each.kind)][each.foreign][candidate.green].push_back(with - base);
  }
  for (int own = 0; own < 2; ++own) {
    for (int foreign = 0; foreign < 2; ++foreign) {
      for (std::size_t kind = 0; kind < wait_kinds.size(); ++kind) {
        for (int green = 0; green < 2; ++green) {
          auto const& found = more[own][kind][foreign][green];
          if (found.empty()) continue;  // no green contexts here
          json row{{"trainer", own ? "own" : "legacy"},
                   {"waits_for", wait_names[kind]},
                   {"on", green ? "green" : "low_priority"},
                   {"foreign", foreign == 1}};
          row["base_ns"] = spread(bases[own][foreign], 1e9).at("p50");
          row["more_ns"] = spread(found, given_.slow_ns);
          row["each_more_ns"] = json::array();
          for (double const value : found) row["each_more_ns"].push_back(std::round(value));
          rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

/// A chain of kernels as a graph, with a leaf that hangs off the chain's last kernel as a worker does; more kernels
/// come after it.
void bench_waits::capture(leaf what, cuda_graph& into) {
  cuda_stream const captures{0};
  LULL_CUDA(cudaStreamBeginCapture(captures.get(), cudaStreamCaptureModeRelaxed));
  chain_.enqueue(captures.get());
  if (what != leaf::none) {
    detail::captured_graph const under = detail::graph_under_capture(captures.get()).value();
    CUgraphEdgeData edge{};
    if (what == leaf::programmatic) {
      edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
      edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    }
    cudaKernel_t kernel{};
    LULL_CUDA(cudaGetKernel(&kernel, bench::stand_in_kernel()));
    std::uint64_t* nowhere = nullptr;
    void* parameters[] = {&nowhere, &nowhere};
    CUgraphNodeParams node{};
    node.type = CU_GRAPH_NODE_TYPE_KERNEL;
    node.kernel.kern = reinterpret_cast<CUkernel>(kernel);
    node.kernel.gridDimX = 112;
    node.kernel.gridDimY = node.kernel.gridDimZ = 1;
    node.kernel.blockDimX = 1024;
    node.kernel.blockDimY = node.kernel.blockDimZ = 1;
    node.kernel.kernelParams = parameters;
    CUgraphNode made{};
    LULL_DRIVER(driver().add_node(&made, under.graph, under.behind.data(), &edge, 1, &node));
  }
  for (int i = 0; i < 5; ++i) chain_.kernel(captures.get());
  cudaGraph_t graph{};
  LULL_CUDA(cudaStreamEndCapture(captures.get(), &graph));
  into = cuda_graph{graph};
  LULL_CUDA(cudaGraphUpload(into.executable(), own_.get()));  // not in a launch, while the stream is kept back
}

json bench_waits::graphs() {
  if (driver().add_node == nullptr) return {{"not_run", "this driver cannot add nodes with kinds of edges"}};
  cuda_graph made[leaves.size()];
  for (leaf const each : leaves) capture(each, made[static_cast<int>(each)]);
  std::vector<std::pair<std::size_t, bool>> trials;
  for (int repeat = 0; repeat < 12; ++repeat) {
    for (std::size_t each = 0; each < leaves.size(); ++each) {
      for (bool const foreign : {false, true}) trials.emplace_back(each, foreign);
    }
  }
  std::mt19937_64 random{given_.seed + 1};
  std::shuffle(trials.begin(), trials.end(), random);
  std::vector<double> found[leaves.size()][2];
  for (auto const& [each, foreign] : trials) {
    found[each][foreign].push_back(chain_.kernel_ns(
        own_.get(), [&, graph = made[each].executable()] { LULL_CUDA(cudaGraphLaunch(graph, own_.get())); },
        [&, foreign = foreign] {
          if (foreign) chain_.wait_for_end(foreign_.get());
        }));
  }
  json rows = json::array();
  for (std::size_t each = 0; each < leaves.size(); ++each) {
    for (int foreign = 0; foreign < 2; ++foreign) {
      double const base = spread(found[0][foreign], 0).at("p50");
      rows.push_back({{"graph", leaf_names[each]},
                      {"foreign", foreign == 1},
                      {"kernel_ns", spread(found[each][foreign], base + given_.slow_ns)}});
    }
  }
  return rows;
}

/// From an opening kernel on the trainer's stream to the blocks of a worker that waited for it.
json bench_waits::starts() {
  device_buffer const memory{256};  // (3,) u64: opening, least and greatest start of a block
  auto* const when = static_cast<std::uint64_t*>(memory.get());
  std::vector<std::pair<std::size_t, bool>> trials;
  for (int i = 0; i < given_.starts; ++i) {
    for (std::size_t kind = 0; kind < wait_kinds.size(); ++kind) {
      for (bool const green : {false, true}) trials.emplace_back(kind, green);
    }
  }
  std::mt19937_64 random{given_.seed + 2};
  std::shuffle(trials.begin(), trials.end(), random);
  std::vector<double> first[3][2];
  std::vector<double> last[3][2];
  for (auto const& [kind, green] : trials) {
    auto* const waits = static_cast<cudaStream_t>(first_candidate(green));
    if (waits == nullptr) continue;
    ++round_;
    std::uint64_t const none[3] = {0, ~std::uint64_t{0}, 0};
    LULL_CUDA(cudaMemcpy(when, none, sizeof none, cudaMemcpyHostToDevice));
    trainer::wait_one_thread(own_.get(), 200'000, nullptr);
    wait_kind const how = wait_kinds[kind];
    bench::set_word(own_.get(), word_of(how), round_, when);
    LULL_CUDA(cudaEventRecord(end_.get(), own_.get()));
    if (how == wait_kind::event) {
      LULL_CUDA(cudaStreamWaitEvent(waits, end_.get(), 0));
    } else {
      await_word(waits, word_of(how), round_);
    }
    bench::stand_in(waits, when + 1, when + 2);
    trainer::wait_one_thread(own_.get(), 60'000, nullptr);
    LULL_CUDA(cudaDeviceSynchronize());
    std::uint64_t found[3] = {};
    LULL_CUDA(cudaMemcpy(found, when, sizeof found, cudaMemcpyDeviceToHost));
    first[kind][green].push_back(static_cast<double>(found[1] - found[0]));
    last[kind][green].push_back(static_cast<double>(found[2] - found[0]));
  }
  json rows = json::array();
  for (std::size_t kind = 0; kind < wait_kinds.size(); ++kind) {
    for (int green = 0; green < 2; ++green) {
      if (first[kind][green].empty()) continue;
      rows.push_back({{"armed_by", wait_names[kind]},
                      {"on", green ? "green" : "low_priority"},
                      {"first_block_ns", spread(first[kind][green], 1e9)},
                      {"last_block_ns", spread(last[kind][green], 1e9)}});
    }
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  arguments given;
  bench::program here{"pending_wait", "What a wait that is pending on another stream costs each kernel of a stream"};
  CLI::App& app = here.app;
  here.add_connections(given.connections);
  app.add_option("--kernels", given.kernels, "of a chain")->check(CLI::Range(10, 950));
  app.add_option("--candidates", given.candidates, "streams of each kind that wait")->check(CLI::Range(1, 24));
  app.add_option("--repeats", given.repeats, "of each trial")->check(CLI::Range(1, 100));
  app.add_option("--starts", given.starts, "measured of each kind; 0: none")->check(CLI::Range(0, 10'000));
  app.add_option("--slow-ns", given.slow_ns, "a kernel that takes so much longer is slow")->check(CLI::Range(1.0, 1e6));
  app.add_option("--seed", given.seed, "of the order");
  here.add_limit(120);
  return here.run(argc, argv, [&] {
    bench::need_gpu();
    bench_waits waits{given};
    json made{
        {"name", "pending_wait"}, {"connections", given.connections}, {"kernels", given.kernels}, {"seed", given.seed}};
    made["streams"] = waits.streams();
    made["graphs"] = waits.graphs();
    if (given.starts != 0) made["starts"] = waits.starts();
    std::cout << made.dump() << std::endl;
    return 0;
  });
}
