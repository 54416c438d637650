// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/yield/bubbles.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <unordered_map>

#include <cublas_v2.h>

#include <lull/host/cuda/check.hpp>

namespace lull::bench {

namespace {

constexpr int gemm_size = 2048;
constexpr std::uint64_t arrival_after_ns = 60'000;
constexpr std::uint64_t head_start_ns = 1'500'000;  // lets the host run ahead of the device, as a trainer's does
constexpr int warm_up = 20;  // bubbles of each treatment that are not counted
constexpr int treatments = 3;

/// The moments of one bubble, on the device.
struct moments {
  std::uint64_t begin;   // before the opening edge
  std::uint64_t closed;  // end of the gap
  std::uint64_t asked;   // arrival
  trainer::stamps comes;
  trainer::stamps training;
  std::uint64_t done;
};

double us(std::uint64_t from, std::uint64_t to) { return static_cast<double>(static_cast<std::int64_t>(to - from)) / 1e3; }

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw device_error{static_cast<int>(status), cublasGetStatusName(status), "cuBLAS", __FILE__};
}

}  // namespace

namespace {

/// The two edges of a gate that no worker looks at.
class bare_edges {
 public:
  explicit bare_edges(executor& machine) : machine_(machine), mark_(machine.make_mark()) {
    gate_.line = static_cast<gate_line*>(machine.allocate(sizeof(gate_line)));
    gate_.records = static_cast<bubble_record*>(machine.allocate(sizeof(bubble_record)));
  }
  ~bare_edges() {
    machine_.release(gate_.line);
    machine_.release(gate_.records);
  }
  void open(stream_handle stream) { machine_.open_edge(stream, gate_, ++value_, 1, *mark_, false); }
  void close(stream_handle stream) { machine_.close_edge(stream, gate_, ++value_, *mark_, false, {}); }

 private:
  executor& machine_;
  std::unique_ptr<bubble_mark> mark_;
  gate_ref gate_;
  std::uint32_t value_ = 0;
};

}  // namespace

struct bubble_bench::device_state {
  cuda_stream trainer{0};
  cuda_stream other{0};
  cuda_event fork;
  cublasHandle_t cublas = nullptr;
  void* matrices[3] = {};
  void* workspace = nullptr;
  moments* stamped = nullptr;
  std::size_t capacity = 0;

  device_state() {
    check(cublasCreate(&cublas));
    check(cublasSetStream(cublas, trainer.get()));
    constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
    LULL_CUDA(cudaMalloc(&workspace, workspace_bytes));
    check(cublasSetWorkspace(cublas, workspace, workspace_bytes));
    for (int m = 0; m < 3; ++m) {
      constexpr std::uint64_t count = std::uint64_t{gemm_size} * gemm_size;
      LULL_CUDA(cudaMalloc(&matrices[m], count * 2));
      trainer::fill_random_bf16(trainer.get(), matrices[m], count, static_cast<std::uint64_t>(m) * count);
    }
    product();
    LULL_CUDA(cudaStreamSynchronize(trainer.get()));
  }
  ~device_state() {
    cublasDestroy(cublas);
    for (void* each : matrices) cudaFree(each);
    cudaFree(workspace);
    cudaFree(stamped);
  }
  void product() {
    float const one = 1;
    float const zero = 0;
    check(cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, gemm_size, gemm_size, gemm_size, &one, matrices[0], CUDA_R_16BF, gemm_size,
                       matrices[1], CUDA_R_16BF, gemm_size, &zero, matrices[2], CUDA_R_16BF, gemm_size, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT));
  }
};

bubble_bench::bubble_bench() : state_(std::make_unique<device_state>()) { trainer::load(); }
bubble_bench::~bubble_bench() = default;

std::vector<samples> bubble_bench::run(setting const& how, runtime& side) {
  device_state& device = *state_;
  cudaStream_t const stream = device.trainer.get();
  int const each = how.bubbles + warm_up;
  auto const total = static_cast<std::size_t>(each) * treatments;
  if (device.capacity < total) {
    cudaFree(device.stamped);
    LULL_CUDA(cudaMalloc(reinterpret_cast<void**>(&device.stamped), total * sizeof(moments)));
    device.capacity = total;
  }
  std::vector<moments> found(total);
  for (moments& one : found) one = {0, 0, 0, {~std::uint64_t{0}, 0, 0}, {~std::uint64_t{0}, 0, 0}, 0};
  LULL_CUDA(cudaMemcpy(device.stamped, found.data(), total * sizeof(moments), cudaMemcpyHostToDevice));
  side.take_bubbles();
  while (!side.ready(stream)) std::this_thread::yield();

  bare_edges edges{side.machine()};
  std::mt19937_64 random{42};
  std::vector<samples> out(treatments);
  std::vector<std::uint64_t> gap(total);
  std::vector<std::uint64_t> number(total);  // the runtime's number of each bubble; 0: none
  std::unordered_map<std::uint64_t, bubble_record> records;
  auto const take = [&] {
    for (bubble_report const& one : side.take_bubbles()) records[one.record.bubble] = one.record;
  };
  std::vector<int> done(treatments);
  for (bool more = true; more;) {
    more = false;
    for (int t = 0; t < treatments; ++t) {
      runtime* const lull = t == static_cast<int>(treatment::worker) ? &side : nullptr;
      bool const bare = t == static_cast<int>(treatment::edges);
      trainer::wait_one_thread(stream, head_start_ns, nullptr);
      for (int b = 0; b < how.group && done[t] < each; ++b, ++done[t]) {
        std::size_t const index = static_cast<std::size_t>(t) * static_cast<std::size_t>(each) + static_cast<std::size_t>(done[t]);
        moments* const when = device.stamped + index;
        std::uint64_t const ns = how.shortest_ns + random() % (how.longest_ns - how.shortest_ns + 1);
        gap[index] = ns;
        trainer::stamp(stream, &when->begin);
        auto const h0 = std::chrono::steady_clock::now();
        bubble_id const id = lull != nullptr ? lull->open(stream, site{"bench"}) : bubble_id{};
        if (bare) edges.open(stream);
        auto const h1 = std::chrono::steady_clock::now();
        if (how.comes != arrival::none) {
          LULL_CUDA(cudaEventRecord(device.fork.get(), stream));
          LULL_CUDA(cudaStreamWaitEvent(device.other.get(), device.fork.get(), 0));
          trainer::wait_one_thread(device.other.get(), arrival_after_ns, &when->asked);
          if (how.comes == arrival::one_thread) trainer::burst(device.other.get(), 1, 1, 5000, &when->comes);
          if (how.comes == arrival::blocks_132) trainer::burst(device.other.get(), 132, 384, 2000, &when->comes);
          if (how.comes == arrival::nccl_shape) trainer::wait_nccl_shape(device.other.get(), 20'000, &when->comes);
        }
        trainer::wait_one_thread(stream, ns, &when->closed);
        auto const h2 = std::chrono::steady_clock::now();
        if (lull != nullptr) lull->close(id, stream);
        if (bare) edges.close(stream);
        auto const h3 = std::chrono::steady_clock::now();
        number[index] = id.bubble;
        if (done[t] >= warm_up) out[static_cast<std::size_t>(t)].host.push_back(std::chrono::duration<double, std::micro>((h1 - h0) + (h3 - h2)).count());
        switch (how.training) {
          case behind::burst_132:
          case behind::burst_264: {
            int const blocks = how.training == behind::burst_132 ? 132 : 264;
            trainer::burst(stream, blocks, 512, 4000, &when->training);
            trainer::burst(stream, blocks, 512, 4000, nullptr);
            break;
          }
          case behind::cublas_2048: device.product(); break;
        }
        trainer::stamp(stream, &when->done);
        more = true;
      }
      LULL_CUDA(cudaStreamSynchronize(stream));
      take();
    }
  }
  LULL_CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 100; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    take();
  }
  LULL_CUDA(cudaMemcpy(found.data(), device.stamped, total * sizeof(moments), cudaMemcpyDeviceToHost));
  for (int t = 0; t < treatments; ++t) {
    samples& into = out[static_cast<std::size_t>(t)];
    for (int b = warm_up; b < each; ++b) {
      std::size_t const index = static_cast<std::size_t>(t) * static_cast<std::size_t>(each) + static_cast<std::size_t>(b);
      moments const& when = found[index];
      into.whole.push_back(us(when.begin + gap[index], when.done));
      if (how.training != behind::cublas_2048) {
        into.first.push_back(us(when.closed, when.training.first));
        into.last_in.push_back(us(when.closed, when.training.last_in));
      }
      if (how.comes != arrival::none) into.delay.push_back(us(when.asked, when.comes.last_in));
      if (t != static_cast<int>(treatment::worker)) continue;
      auto const record = records.find(number[index]);
      if (record == records.end() || record->second.blocks == 0) {
        ++into.dropped;
        continue;
      }
      into.drain.push_back(us(when.closed, record->second.last_out_ns));
      if (record->second.not_saw_ns != 0) into.saw.push_back(us(when.closed, ~record->second.not_saw_ns));
      into.start.push_back(us(record->second.opened_ns, record->second.last_in_ns));
      into.period.push_back(static_cast<double>(record->second.stay_ns) / 1e3 / static_cast<double>(record->second.chunks));
      into.lease_blocks += record->second.lease_blocks;
    }
  }
  return out;
}

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  auto const rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(values.size())));
  return values[std::min(values.size() - 1, rank == 0 ? 0 : rank - 1)];
}

}  // namespace lull::bench
