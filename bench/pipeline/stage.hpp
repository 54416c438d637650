// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <lull/bench/pipeline/kernels.hpp>
#include <lull/bench/pipeline/links.hpp>
#include <lull/bench/pipeline/step_order.hpp>
#include <lull/docs/examples/rendezvous.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/blas.hpp>
#include <lull/host/runtime.hpp>

namespace lull::bench {

struct stage_size {
  number_kind numbers = number_kind::bf16;
  int tokens = 4096;  // a micro-batch
  int width = 4096;
  int layers = 4;  // of each stage, shared out over its virtual stages
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

/// One stage of a pipeline of linear layers, trained on itself: passes of micro-batches in a schedule's order, weights
/// updated at each step's end, and the input of a step made from the gradients of the one before, so that any wrong bit
/// shows in all that comes after. Receives are on the training stream, sends on one of their own, beside the
/// computation and, often, while the receive of a bubble is resident.
class stage {
 public:
  /// Collective. Throws usage_error where layers cannot be shared out, or for a shape that the schedule refuses.
  stage(rank_place const& me, rendezvous& meeting, stage_size size, schedule_kind schedule);
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
  /// Of (width, width) are weights and slopes, of (tokens, width) the others.
  struct layer_arrays {
    std::vector<device_buffer> weights;      // (layers,)
    std::vector<device_buffer> slopes;       // (layers,)
    std::vector<device_buffer> activations;  // (microbatches × (layers + 1),): what comes in, what each layer makes
    std::vector<device_buffer> gradients;    // (microbatches × (layers + 1),): of the same
    std::vector<cuda_event> made;            // (microbatches,): what is to be sent
    bool has_slopes = false;                 // of the step that is enqueued
  };
  /// What receives the message that a pass needs, or holds the one that it makes.
  enum class boundary { needed, made };

  void multiply(cublasOperation_t left, cublasOperation_t right, int columns, int depth, float scale, void const* a,
                void const* b, float keep, void* c);
  void compute(step_action const& one);
  void forward(step_action const& one);
  void input_gradients(step_action const& one);
  void weight_gradients(step_action const& one);
  void send(step_action const& one);
  void receive(step_action const& one, runtime* side);
  void* message(step_action const& one, boundary which);
  void* activation(step_action const& one, std::size_t layer);
  void* gradient(step_action const& one, std::size_t layer);
  bool is_first(step_action const& one) const;
  bool is_last(step_action const& one) const;
  template <class Work>
  void for_each_array(Work work);

  rank_place const me_;
  stage_size const size_;
  schedule_kind const schedule_;
  std::size_t const layers_;  // of a virtual stage
  std::vector<step_action> const order_;
  links links_;
  cuda_stream train_;
  cuda_stream sends_;
  trainer::blas blas_;
  device_buffer sum_;  // (1,) u64
  std::vector<layer_arrays> virtual_stages_;
  cuda_event sent_;
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
