// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/yield/stage.hpp>

#include <lull/host/cuda/check.hpp>

namespace lull::bench {

namespace {

constexpr int gemm_size = 2048;

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw device_error{static_cast<int>(status), cublasGetStatusName(status), "cuBLAS", __FILE__};
}

}  // namespace

bare_edges::bare_edges(executor& executor) : executor_(executor), mark_(executor.make_mark()) {
  gate_.line = static_cast<gate_line*>(executor.allocate(sizeof(gate_line)));
  gate_.records = static_cast<bubble_record*>(executor.allocate(sizeof(bubble_record)));
}

bare_edges::~bare_edges() {
  executor_.release(gate_.line);
  executor_.release(gate_.records);
}

void bare_edges::open(stream_handle stream) { executor_.open_edge(stream, gate_, ++value_, 1, *mark_, false); }
void bare_edges::close(stream_handle stream) {
  executor_.close_edge(stream, gate_, ++value_, *mark_, false, closing{});
}
void bare_edges::capture_open(stream_handle stream) { opening_ = executor_.capture_open(stream, gate_, ++value_, {}); }
void bare_edges::capture_close(stream_handle stream) { executor_.capture_close(stream, gate_, ++value_, 0, opening_); }

bubble_bench::device_state::device_state() {
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

bubble_bench::device_state::~device_state() {
  cublasDestroy(cublas);
  for (void* each : matrices) cudaFree(each);
  cudaFree(workspace);
  cudaFree(stamped);
}

void bubble_bench::device_state::reserve(std::size_t bubbles) {
  if (bubbles <= capacity) return;
  cudaFree(stamped);
  LULL_CUDA(cudaMalloc(reinterpret_cast<void**>(&stamped), bubbles * sizeof(moments)));
  capacity = bubbles;
}

void bubble_bench::device_state::product() {
  float const one = 1;
  float const zero = 0;
  check(cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, gemm_size, gemm_size, gemm_size, &one, matrices[0], CUDA_R_16BF,
                     gemm_size, matrices[1], CUDA_R_16BF, gemm_size, &zero, matrices[2], CUDA_R_16BF, gemm_size,
                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

void bubble_bench::device_state::train(behind what, moments* when) {
  switch (what) {
    case behind::burst_132:
    case behind::burst_264: {
      int const blocks = what == behind::burst_132 ? 132 : 264;
      trainer::burst(trainer.get(), blocks, 512, 4000, &when->training);
      trainer::burst(trainer.get(), blocks, 512, 4000, nullptr);
      break;
    }
    case behind::cublas_2048:
      product();
      break;
  }
  trainer::stamp(trainer.get(), &when->done);
}

void add_moments(samples& into, setting const& how, moments const& when, std::uint64_t gap_ns) {
  into.whole.push_back(us(when.begin + gap_ns, when.done));
  if (how.training != behind::cublas_2048) {
    into.first.push_back(us(when.closed, when.training.first));
    into.last_in.push_back(us(when.closed, when.training.last_in));
  }
  if (how.comes != arrival::none) into.delay.push_back(us(when.asked, when.comes.last_in));
}

void add_record(samples& into, moments const& when, bubble_record const& record) {
  into.drain.push_back(us(when.closed, record.last_out_ns));
  if (record.not_saw_ns != 0) {
    into.saw.push_back(us(when.closed, ~record.not_saw_ns));
    into.out.push_back(us(~record.not_saw_ns, record.last_out_ns));
  }
  into.start.push_back(us(record.opened_ns, record.last_in_ns));
  into.period.push_back(static_cast<double>(record.stay_ns) / 1e3 / static_cast<double>(record.chunks));
  into.lease_blocks += record.lease_blocks;
}

}  // namespace lull::bench
