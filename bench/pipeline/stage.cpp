// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/pipeline/stage.hpp>

#include <cmath>
#include <optional>
#include <thread>

#include <lull/apps/lull/trainer/kernels.hpp>
#include <lull/bench/pipeline/kernels.hpp>
#include <lull/host/cuda/check.hpp>

namespace lull::bench {

namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
constexpr std::size_t value_bytes = 2;

void check(ncclResult_t code, char const* call) {
  if (code != ncclSuccess) throw device_error{static_cast<int>(code), ncclGetErrorString(code), call, "NCCL"};
}
void check(cublasStatus_t code, char const* call) {
  if (code != CUBLAS_STATUS_SUCCESS)
    throw device_error{static_cast<int>(code), cublasGetStatusName(code), call, "cuBLAS"};
}
#define LULL_CHECK(call) check((call), #call)

std::vector<device_memory> arrays(std::size_t count, std::uint64_t values) {
  std::vector<device_memory> made;
  for (std::size_t i = 0; i < count; ++i) made.emplace_back(values * value_bytes);
  return made;
}

ncclComm_t connect(rank_place const& me, rendezvous& meeting) {
  ncclUniqueId id{};
  if (me.rank == 0) LULL_CHECK(ncclGetUniqueId(&id));
  id = meeting.from_first(id);
  ncclComm_t made = nullptr;
  LULL_CHECK(ncclCommInitRank(&made, me.world, id, me.rank));
  return made;
}

}  // namespace

stage::stage(rank_place const& me, rendezvous& meeting, stage_size size)
    : me_(me),
      size_(size),
      by_forward_(connect(me, meeting)),
      by_backward_(connect(me, meeting)),
      train_(0),
      sends_(0),
      workspace_(workspace_bytes),
      sum_(sizeof(std::uint64_t)),
      weights_(arrays(static_cast<std::size_t>(size.layers), size.weights())),
      slopes_(arrays(static_cast<std::size_t>(size.layers), size.weights())),
      activations_(arrays(static_cast<std::size_t>(size.microbatches * (size.layers + 1)), size.activation())),
      passed_on_(arrays(static_cast<std::size_t>(size.microbatches), size.activation())),
      between_(arrays(2, size.activation())),
      gradient_(size.activation() * value_bytes),
      sent_(event_timing::off) {
  LULL_CHECK(cublasCreate(&cublas_));
  LULL_CHECK(cublasSetStream(cublas_, train_.get()));
  LULL_CHECK(cublasSetWorkspace(cublas_, workspace_.get(), workspace_bytes));  // after the stream, which resets it
  for (int i = 0; i < size.microbatches; ++i) {
    made_.emplace_back(event_timing::off);
    sites_.push_back((me.rank == 0 ? "recv_backward " : "recv_forward ") + std::to_string(i));
  }
}

stage::~stage() {
  cublasDestroy(cublas_);
  ncclCommDestroy(by_forward_);
  ncclCommDestroy(by_backward_);
}

void* stage::activation(std::size_t microbatch, int layer) const {
  return activations_[microbatch * static_cast<std::size_t>(size_.layers + 1) + static_cast<std::size_t>(layer)].get();
}

void stage::exchange(cudaStream_t stream) {
  int const peer = 1 - me_.rank;
  std::uint64_t const count = size_.activation();
  if (me_.rank == 0) {
    LULL_CHECK(ncclSend(activation(0, size_.layers), count, ncclBfloat16, peer, by_forward_, stream));
    LULL_CHECK(ncclRecv(gradient_.get(), count, ncclBfloat16, peer, by_backward_, stream));
  } else {
    LULL_CHECK(ncclRecv(activation(0, 0), count, ncclBfloat16, peer, by_forward_, stream));
    LULL_CHECK(ncclSend(passed_on_[0].get(), count, ncclBfloat16, peer, by_backward_, stream));
  }
}

void stage::reset() {
  std::uint64_t seed = static_cast<std::uint64_t>(me_.rank) << 40;
  auto const fill = [&](std::vector<device_memory> const& all, std::uint64_t count) {
    for (device_memory const& each : all) trainer::fill_random_bf16(train_.get(), each.get(), count, seed += count);
  };
  fill(weights_, size_.weights());
  fill(slopes_, size_.weights());
  fill(activations_, size_.activation());
  fill(passed_on_, size_.activation());
  fill(between_, size_.activation());
}

/// c (rows, columns) = scale × a × b + keep × c, all stored by columns; each transposed as said.
void stage::multiply(side_of_product left, side_of_product right, int rows, int columns, int depth, float scale,
                     void const* a, void const* b, float keep, void* c) {
  auto const way = [](side_of_product side) { return side == side_of_product::plain ? CUBLAS_OP_N : CUBLAS_OP_T; };
  // every array has `width` rows
  LULL_CHECK(cublasGemmEx(cublas_, way(left), way(right), rows, columns, depth, &scale, a, CUDA_R_16BF, size_.width, b,
                          CUDA_R_16BF, size_.width, &keep, c, CUDA_R_16BF, size_.width, CUBLAS_COMPUTE_32F,
                          CUBLAS_GEMM_DEFAULT));
}

/// x (width, tokens) of a layer to the next: weights × x, of the same magnitude.
void stage::forward(std::size_t microbatch) {
  float const scale = std::sqrt(3.0f / static_cast<float>(size_.width));  // values are uniform in (−1, 1)
  for (int layer = 0; layer < size_.layers; ++layer) {
    multiply(side_of_product::plain, side_of_product::plain, size_.width, size_.tokens, size_.width, scale,
             weights_[static_cast<std::size_t>(layer)].get(), activation(microbatch, layer), 0,
             activation(microbatch, layer + 1));
  }
}

void stage::backward(std::size_t microbatch, void const* gradient, void* out) {
  float const scale = std::sqrt(3.0f / static_cast<float>(size_.width));
  float const scale_of_slopes = std::sqrt(3.0f / static_cast<float>(size_.tokens));
  for (int layer = size_.layers - 1; layer >= 0; --layer) {
    auto const at = static_cast<std::size_t>(layer);
    multiply(side_of_product::plain, side_of_product::transposed, size_.width, size_.width, size_.tokens,
             scale_of_slopes, gradient, activation(microbatch, layer), microbatch == 0 ? 0.0f : 1.0f,
             slopes_[at].get());
    void* const next = layer == 0 ? out : between_[at % 2].get();
    multiply(side_of_product::transposed, side_of_product::plain, size_.width, size_.tokens, size_.width, scale,
             weights_[at].get(), gradient, 0, next);
    gradient = next;
  }
}

/// Sends go on a stream of their own, as soon as what is sent is made. What they read is written again only when the
/// other stage has answered.
void stage::made(std::size_t microbatch) { LULL_CUDA(cudaEventRecord(made_[microbatch].get(), train_.get())); }

void stage::send(void const* what, ncclComm_t by, std::size_t microbatch) {
  LULL_CUDA(cudaStreamWaitEvent(sends_.get(), made_[microbatch].get(), 0));
  LULL_CHECK(ncclSend(what, size_.activation(), ncclBfloat16, 1 - me_.rank, by, sends_.get()));
}

void stage::receive(runtime* side, std::size_t microbatch, void* into, ncclComm_t by) {
  std::optional<bubble> idle;
  if (side != nullptr) idle.emplace(*side, train_.get(), site{sites_[microbatch]});
  LULL_CHECK(ncclRecv(into, size_.activation(), ncclBfloat16, 1 - me_.rank, by, train_.get()));
}

void stage::step(runtime* side, last_send ends) {
  auto const count = static_cast<std::size_t>(size_.microbatches);
  if (me_.rank == 0) {
    auto const take_back = [&](std::size_t i) {
      backward(i, gradient_.get(), passed_on_[i].get());
      stir(train_.get(), activation(i, 0), passed_on_[i].get(), size_.activation());  // the next step's input
    };
    for (std::size_t i = 0; i < count; ++i) {
      forward(i);
      made(i);
      // Sends and receives in an order that works one by one, too: streams may share a hardware queue. The send is
      // resident while the receive is waited for.
      if (i != 0) receive(side, i - 1, gradient_.get(), by_backward_);
      send(activation(i, size_.layers), by_forward_, i);
      if (i != 0) take_back(i - 1);
    }
    receive(side, count - 1, gradient_.get(), by_backward_);
    take_back(count - 1);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      receive(side, i, activation(i, 0), by_forward_);
      forward(i);
      stir(train_.get(), gradient_.get(), activation(i, size_.layers), size_.activation());  // stands for the loss
      backward(i, gradient_.get(), passed_on_[i].get());
      made(i);
      send(passed_on_[i].get(), by_backward_, i);
    }
  }
  for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
    update(train_.get(), weights_[layer].get(), slopes_[layer].get(), size_.weights());
  }
  if (ends == last_send::flies) return;
  LULL_CUDA(cudaEventRecord(sent_.get(), sends_.get()));
  LULL_CUDA(cudaStreamWaitEvent(train_.get(), sent_.get(), 0));
}

std::uint64_t stage::checksum() {
  auto* const sum = static_cast<std::uint64_t*>(sum_.get());
  LULL_CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, train_.get()));
  auto const add = [&](std::vector<device_memory> const& all, std::uint64_t values) {
    for (device_memory const& each : all) add_checksum(train_.get(), sum, each.get(), values);
  };
  add(weights_, size_.weights());
  add(slopes_, size_.weights());
  add(activations_, size_.activation());
  add(passed_on_, size_.activation());
  std::uint64_t found = 0;
  LULL_CUDA(cudaMemcpyAsync(&found, sum, sizeof found, cudaMemcpyDeviceToHost, train_.get()));
  LULL_CUDA(cudaStreamSynchronize(train_.get()));
  return found;
}

void stage::check_communicators() const {
  for (ncclComm_t const each : {by_forward_, by_backward_}) {
    ncclResult_t state = ncclSuccess;
    LULL_CHECK(ncclCommGetAsyncError(each, &state));
    if (state != ncclInProgress) LULL_CHECK(state);
  }
}

void stage::wait_for(cudaEvent_t event, std::chrono::seconds at_most) {
  auto const give_up = std::chrono::steady_clock::now() + at_most;
  for (;;) {
    cudaError_t const state = cudaEventQuery(event);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) LULL_CUDA(state);
    cudaGetLastError();  // or the check behind the next launch finds it
    check_communicators();
    if (std::chrono::steady_clock::now() >= give_up) {
      throw limit_error{"rank " + std::to_string(me_.rank) + ": the pipeline has not moved for " +
                        std::to_string(at_most.count()) + " s"};
    }
    std::this_thread::sleep_for(std::chrono::microseconds{200});
  }
}

void stage::finish(std::chrono::seconds at_most) {
  for (cudaStream_t const each : {train_.get(), sends_.get()}) {
    cuda_event const end{event_timing::off};
    LULL_CUDA(cudaEventRecord(end.get(), each));
    wait_for(end.get(), at_most);
  }
}

captured_step::captured_step(stage& of, runtime* side) {
  LULL_CUDA(cudaStreamBeginCapture(of.stream(), cudaStreamCaptureModeThreadLocal));
  of.step(side, last_send::is_waited_for);
  cudaGraph_t graph{};
  LULL_CUDA(cudaStreamEndCapture(of.stream(), &graph));
  graph_ = cuda_graph{graph};
  LULL_CUDA(cudaGraphUpload(graph_.executable(), of.stream()));
}

}  // namespace lull::bench
