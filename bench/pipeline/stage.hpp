// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cublas_v2.h>
#include <nccl.h>

#include <lull/docs/examples/rendezvous.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/runtime.hpp>

namespace lull::bench {

struct stage_size {
  int tokens = 4096;  // a micro-batch
  int width = 4096;
  int layers = 4;  // of each stage
  int microbatches = 4;

  std::uint64_t activation() const noexcept {
    return static_cast<std::uint64_t>(tokens) * static_cast<std::uint64_t>(width);
  }
  std::uint64_t weights() const noexcept {
    return static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(width);
  }
};

/// Whether a captured step waits for its last send: a capture has to.
enum class last_send { flies, is_waited_for };

/// One of two stages of a pipeline of linear layers in bf16, trained on itself: forward and backward passes of
/// micro-batches in 1F1B order, weights updated at each step's end, and the input of a step made from the gradients of
/// the one before, so that any wrong bit shows in all that comes after. Activations go by one communicator, gradients
/// by another; receives are on the training stream, sends on one of their own, beside the computation and, often, while
/// the receive of a bubble is resident.
class stage {
 public:
  /// Collective.
  stage(rank_place const& me, rendezvous& meeting, stage_size size);
  ~stage();
  stage(stage const&) = delete;
  stage& operator=(stage const&) = delete;

  cudaStream_t stream() const noexcept { return train_.get(); }
  /// One message each way, on one stream. Collective.
  void exchange(cudaStream_t stream);
  /// Everything as at the start. Enqueues.
  void reset();
  /// Enqueues a step, its receives in bubbles where `side` is not null. Collective.
  void step(runtime* side, last_send ends);
  /// Of weights, activations and gradients. Waits.
  std::uint64_t checksum();
  /// Waits for what was enqueued. Errors: limit_error when that takes longer; device_error when NCCL has failed.
  void finish(std::chrono::seconds at_most);
  /// The same, for an event.
  void wait_for(cudaEvent_t event, std::chrono::seconds at_most);

 private:
  enum class side_of_product { plain, transposed };
  void multiply(side_of_product left, side_of_product right, int rows, int columns, int depth, float scale,
                void const* a, void const* b, float keep, void* c);
  void forward(std::size_t microbatch);
  void backward(std::size_t microbatch, void const* gradient, void* out);
  void made(std::size_t microbatch);
  void send(void const* what, ncclComm_t by, std::size_t microbatch);
  void receive(runtime* side, std::size_t microbatch, void* into, ncclComm_t by);
  void* activation(std::size_t microbatch, int layer) const;
  void check_communicators() const;

  rank_place const me_;
  stage_size const size_;
  ncclComm_t by_forward_ = nullptr;
  ncclComm_t by_backward_ = nullptr;
  cuda_stream train_;
  cuda_stream sends_;
  cublasHandle_t cublas_ = nullptr;
  device_memory workspace_;
  device_memory sum_;                       // (1,) u64
  std::vector<device_memory> weights_;      // (layers,) of (width, width)
  std::vector<device_memory> slopes_;       // (layers,) of (width, width)
  std::vector<device_memory> activations_;  // (microbatches × (layers + 1),) of (tokens, width)
  std::vector<device_memory> passed_on_;    // (microbatches,) of (tokens, width): gradients for the stage before
  std::vector<device_memory> between_;      // (2,) of (tokens, width)
  device_memory gradient_;                  // (tokens, width): from the stage behind
  std::vector<cuda_event> made_;            // (microbatches,)
  cuda_event sent_;
  std::vector<std::string> sites_;  // (microbatches,)
};

/// A step as a captured graph.
class captured_step {
 public:
  captured_step(stage& of, runtime* side);
  void launch(cudaStream_t stream) const { LULL_CUDA(cudaGraphLaunch(graph_.executable(), stream)); }

 private:
  cuda_graph graph_;
};

}  // namespace lull::bench
