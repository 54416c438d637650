// SPDX-License-Identifier: Apache-2.0
// Large products uninterrupted, on all SMs: the worker, the same without polls within a tile, and cuBLAS, in turns.
// One JSON object on standard output; TFLOP/s, and ratios of neighbours in time.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <cublas_v2.h>
#include <nlohmann/json.hpp>

#include <lull/bench/program.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/timed_stream.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/product/product_operands.hpp>
#include <lull/tasks/product/tile_product.hpp>

namespace {

using namespace lull;

struct arguments {
  std::uint32_t size = 4096;  // rows, columns and depth
  std::uint32_t count = 1;
  std::uint64_t rounds = 20;  // of one measurement
  int pairs = 40;
  std::uint32_t grain = 1;
};

void check(cublasStatus_t code, char const* call) {
  if (code != CUBLAS_STATUS_SUCCESS)
    throw device_error{static_cast<int>(code), cublasGetStatusString(code), call, "cuBLAS"};
}
#define LULL_CUBLAS(call) check((call), #call)

class bench_products {
 public:
  explicit bench_products(arguments const& given)
      : given_(given), executor_(make_executor({.kind = executor_kind::cuda, .reserved_groups = 0, .solo = true})) {
    std::size_t const elements = std::size_t{given.size} * given.size * given.count;
    a_ = random(elements, 1);
    b_ = random(elements, 2);
    result_ = {*executor_, elements};
    of_.shape = {given.size, given.size, given.size, given.count};
    of_.a = operand_at(a_.data(), minor::depth, given.size, given.size);
    of_.b = operand_at(b_.data(), minor::depth, given.size, given.size);
    maps_ = maps_of(*executor_, of_);
    of_.maps = maps_.data();
    LULL_CUBLAS(cublasCreate(&blas_));
    LULL_CUBLAS(cublasSetStream(blas_, stream_.get()));
    LULL_CUBLAS(cublasSetWorkspace(blas_, workspace_.get(), workspace_bytes));
  }
  ~bench_products() { cublasDestroy(blas_); }
  bench_products(bench_products const&) = delete;
  bench_products& operator=(bench_products const&) = delete;

  double tflops(double seconds) const {
    double const n = given_.size;
    return 2 * n * n * n * given_.count * static_cast<double>(given_.rounds) / seconds * 1e-12;
  }

  template <class Task>
  double by_worker() {
    Task task{};
    task.of = of_;
    task.to = {result_.data(), given_.size, std::uint64_t{given_.size} * given_.size};
    task.rounds = given_.rounds;
    job_description job = describe(task, "product");
    job.grain = given_.grain;
    solo_run const done = run_to_end(job, *executor_);
    if (!done.finished) throw std::runtime_error("a job did not finish");
    return tflops(static_cast<double>(done.time.count()) * 1e-9);
  }

  /// Row-major c = a × bᵀ is column-major cᵀ = b × aᵀ, whose operands are b transposed and a as they stand.
  double by_cublas() {
    auto const n = static_cast<int>(given_.size);
    long long const step = static_cast<long long>(given_.size) * given_.size;
    float const one = 1;
    float const zero = 0;
    double const ms = stream_.ms([&] {
      for (std::uint64_t round = 0; round < given_.rounds; ++round) {
        LULL_CUBLAS(cublasGemmStridedBatchedEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, b_.data(), CUDA_R_16BF,
                                               n, step, a_.data(), CUDA_R_16BF, n, step, &zero, result_.data(),
                                               CUDA_R_16BF, n, step, static_cast<int>(given_.count), CUBLAS_COMPUTE_32F,
                                               CUBLAS_GEMM_DEFAULT));
      }
    });
    return tflops(ms * 1e-3);
  }

  std::uint64_t blocks() const { return executor_->load(type_of<plain_product>().cuda, 0).blocks; }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

  device_array<bfloat16> random(std::size_t count, std::uint64_t seed) {
    counter_random const numbers{seed, 0};
    std::vector<bfloat16> made(count);
    for (std::size_t i = 0; i < count; ++i) made[i] = bfloat16{static_cast<float>(numbers.at(i) >> 40) * 0x1p-23F - 1};
    return {*executor_, std::span<bfloat16 const>{made}};
  }

  arguments const given_;
  std::unique_ptr<executor> executor_;
  device_array<bfloat16> a_;
  device_array<bfloat16> b_;
  device_array<bfloat16> result_;
  device_array<tensor_map> maps_;
  large_product<minor::depth, minor::depth> of_;
  cublasHandle_t blas_ = nullptr;
  device_buffer workspace_{workspace_bytes};
  timed_stream stream_;
};

nlohmann::ordered_json spread(std::vector<double> const& values) {
  return {{"p10", quantile(values, 0.1)}, {"p50", quantile(values, 0.5)}, {"p90", quantile(values, 0.9)}};
}

void run(arguments const& given) {
  bench_products products{given};
  std::vector<double> worker, never, cublas, to_cublas, to_never, again;
  for (int pair = -3; pair < given.pairs; ++pair) {  // the first ones warm up
    double const with = products.by_worker<plain_product>();
    double const without = products.by_worker<undivided_product>();
    double const theirs = products.by_cublas();
    double const with_again = products.by_worker<plain_product>();
    if (pair < 0) continue;
    worker.push_back(with);
    never.push_back(without);
    cublas.push_back(theirs);
    to_cublas.push_back((with + with_again) / 2 / theirs);
    to_never.push_back((with + with_again) / 2 / without);
    again.push_back(with_again / with);
  }
  nlohmann::ordered_json const found{{"name", "product_speed"},
                                     {"size", given.size},
                                     {"count", given.count},
                                     {"rounds", given.rounds},
                                     {"grain", given.grain},
                                     {"pairs", given.pairs},
                                     {"blocks", products.blocks()},
                                     {"worker_tflops", spread(worker)},
                                     {"without_polls_tflops", spread(never)},
                                     {"cublas_tflops", spread(cublas)},
                                     {"to_cublas", spread(to_cublas)},
                                     {"to_without_polls", spread(to_never)},
                                     {"same_twice", spread(again)}};
  std::cout << found.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  arguments given;
  bench::program here{"product_speed", "Large products uninterrupted: the worker, the same without polls, and cuBLAS"};
  here.app.add_option("--size", given.size, "rows, columns and depth")->check(CLI::Range(1, 16384));
  here.app.add_option("--count", given.count, "products side by side")->check(CLI::Range(1, 4096));
  here.app.add_option("--rounds", given.rounds, "times a measurement")->check(CLI::Range(1, 1'000'000));
  here.app.add_option("--pairs", given.pairs, "measurements of each")->check(CLI::Range(1, 10'000));
  here.app.add_option("--grain", given.grain, "tiles a claim")->check(CLI::Range(1, 64));
  return here.run(argc, argv, [&] {
    bench::need_gpu();
    run(given);
    return 0;
  });
}
