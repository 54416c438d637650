// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <lull/bench/pipeline/kernels.hpp>
#include <lull/bench/pipeline/links.hpp>
#include <lull/bench/pipeline/step_order.hpp>
#include <lull/docs/examples/rendezvous.hpp>
#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/blas.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
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
  stage(rank_place const& me, rendezvous& meeting, stage_size size, schedule_kind schedule)
      : me_(me),
        size_(size),
        schedule_(schedule),
        layers_(layers_of_a_virtual_stage(size, schedule)),
        order_(step_order(shape_of(me, size, schedule)).at(static_cast<std::size_t>(me.rank))),
        links_(me, meeting, virtual_stages_of(schedule) > 1),
        train_(0),
        sends_(0),
        blas_(train_.get()),
        sum_(sizeof(std::uint64_t)),
        sent_(event_timing::off) {
    auto const microbatches = static_cast<std::size_t>(size.microbatches);
    for (std::uint32_t i = 0; i < virtual_stages_of(schedule); ++i) {
      layer_arrays& made = virtual_stages_.emplace_back();
      made.weights = arrays(layers_, size.weights(), size.numbers);
      made.slopes = arrays(layers_, size.weights(), size.numbers);
      made.activations = arrays(microbatches * (layers_ + 1), size.activation(), size.numbers);
      made.gradients = arrays(microbatches * (layers_ + 1), size.activation(), size.numbers);
      for (std::size_t m = 0; m < microbatches; ++m) made.made.emplace_back(event_timing::off);
    }
  }
  stage(stage const&) = delete;
  stage& operator=(stage const&) = delete;

  cudaStream_t stream() const noexcept { return train_.get(); }
  /// One message each way, on one stream. Collective.
  void exchange(cudaStream_t stream) {
    step_action const any{};
    links_.exchange(activation(any, layers_), gradient(any, layers_), size_.activation(), size_.numbers, stream);
  }
  /// Everything as at the start. Enqueues.
  void reset() {
    std::uint64_t seed = static_cast<std::uint64_t>(me_.rank) << 40;
    for_each_array([&](void* array, std::uint64_t values) {
      std::uint64_t const count = values * bytes_of(size_.numbers) / 2;  // two bf16 are a float in (−1, 1), too
      trainer::fill_random_bf16(train_.get(), array, count, seed);
      seed += count;
    });
  }
  /// Enqueues a step, its receives in bubbles where `side` is not null. Collective.
  void step(runtime* side, last_send ends) {
    for (layer_arrays& each : virtual_stages_) each.has_slopes = false;
    for (step_action const& each : order_) {
      switch (each.what) {
        case step_action::kind::compute:
          compute(each);
          break;
        case step_action::kind::send:
          send(each);
          break;
        case step_action::kind::receive:
          receive(each, side);
          break;
      }
    }
    for (layer_arrays const& each : virtual_stages_) {
      for (std::size_t layer = 0; layer < layers_; ++layer) {
        update(train_.get(), size_.numbers, each.weights[layer].get(), each.slopes[layer].get(), size_.weights());
      }
    }
    if (ends == last_send::flies) return;
    LULL_CUDA(cudaEventRecord(sent_.get(), sends_.get()));
    LULL_CUDA(cudaStreamWaitEvent(train_.get(), sent_.get(), 0));
  }
  /// Of weights, activations and gradients. Waits.
  std::uint64_t checksum() {
    auto* const sum = static_cast<std::uint64_t*>(sum_.get());
    LULL_CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, train_.get()));
    for_each_array([&](void const* array, std::uint64_t values) {
      add_checksum(train_.get(), size_.numbers, sum, array, values);
    });
    std::uint64_t found = 0;
    LULL_CUDA(cudaMemcpyAsync(&found, sum, sizeof found, cudaMemcpyDeviceToHost, train_.get()));
    LULL_CUDA(cudaStreamSynchronize(train_.get()));
    return found;
  }
  /// Waits for what was enqueued. Errors: limit_error when that takes longer; device_error when NCCL has failed.
  void finish(std::chrono::seconds at_most) {
    for (cudaStream_t const each : {train_.get(), sends_.get()}) {
      cuda_event const end{event_timing::off};
      LULL_CUDA(cudaEventRecord(end.get(), each));
      wait_for(end.get(), at_most);
    }
  }
  /// The same, for an event.
  void wait_for(cudaEvent_t event, std::chrono::seconds at_most) {
    auto const give_up = std::chrono::steady_clock::now() + at_most;
    for (;;) {
      cudaError_t const state = cudaEventQuery(event);
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady) LULL_CUDA(state);
      cudaGetLastError();  // or the check after the next launch finds it
      links_.check();
      if (std::chrono::steady_clock::now() >= give_up) {
        throw limit_error{"rank " + std::to_string(me_.rank) + ": the pipeline has not moved for " +
                          std::to_string(at_most.count()) + " s"};
      }
      std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
  }

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

  static schedule_shape shape_of(rank_place const& me, stage_size const& size, schedule_kind schedule) {
    return {.kind = schedule,
            .stages = static_cast<std::uint32_t>(me.world),
            .microbatches = static_cast<std::uint32_t>(size.microbatches),
            .forward = std::chrono::milliseconds{1}};
  }

  static std::size_t layers_of_a_virtual_stage(stage_size const& size, schedule_kind schedule) {
    auto const layers = static_cast<std::size_t>(size.layers);
    std::size_t const virtual_stages = virtual_stages_of(schedule);
    if (layers % virtual_stages != 0)
      throw usage_error{std::to_string(layers) + " layers cannot be shared out evenly over " +
                        std::to_string(virtual_stages) + " virtual stages: give another number"};
    return layers / virtual_stages;
  }

  static std::uint64_t bytes_of(number_kind numbers) { return numbers == number_kind::bf16 ? 2 : 4; }

  static std::vector<device_buffer> arrays(std::size_t count, std::uint64_t values, number_kind numbers) {
    std::vector<device_buffer> made;
    for (std::size_t i = 0; i < count; ++i) made.emplace_back(values * bytes_of(numbers));
    return made;
  }

  /// "recv_forward 3", as Megatron calls its functions, and "recv_forward 3 of virtual stage 1".
  static std::string site_of(step_action const& one, schedule_kind schedule) {
    std::string made = one.pass == pass_kind::forward ? "recv_forward " : "recv_backward ";
    made += std::to_string(one.microbatch);
    if (virtual_stages_of(schedule) > 1) made += " of virtual stage " + std::to_string(one.virtual_stage);
    return made;
  }

  /// Every array has `width` rows.
  void multiply(cublasOperation_t left, cublasOperation_t right, int columns, int depth, float scale, void const* a,
                void const* b, float keep, void* c) {
    blas_.multiply({.left = left,
                    .right = right,
                    .rows = size_.width,
                    .columns = columns,
                    .depth = depth,
                    .stride = size_.width,
                    .scale = scale,
                    .keep = keep,
                    .type = size_.numbers == number_kind::bf16 ? CUDA_R_16BF : CUDA_R_32F},
                   a, b, c);
  }
  void compute(step_action const& one) {
    if (one.pass == pass_kind::forward) forward(one);
    if (one.pass == pass_kind::backward || one.pass == pass_kind::input_gradient) input_gradients(one);
    if (one.pass == pass_kind::backward || one.pass == pass_kind::weight_gradient) weight_gradients(one);
    if (one.pass == pass_kind::weight_gradient) return;  // nothing of it is sent
    LULL_CUDA(cudaEventRecord(virtual_stages_[one.virtual_stage].made[one.microbatch].get(), train_.get()));
  }
  /// x (width, tokens) of a layer to the next: weights × x, of the same magnitude.
  void forward(step_action const& one) {
    float const scale = std::sqrt(3.0f / static_cast<float>(size_.width));  // values are uniform in (−1, 1)
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      multiply(CUBLAS_OP_N, CUBLAS_OP_N, size_.tokens, size_.width, scale,
               virtual_stages_[one.virtual_stage].weights[layer].get(), activation(one, layer), 0,
               activation(one, layer + 1));
    }
  }
  void input_gradients(step_action const& one) {
    if (is_last(one))  // stands for the loss
      stir(train_.get(), size_.numbers, gradient(one, layers_), activation(one, layers_), size_.activation());
    float const scale = std::sqrt(3.0f / static_cast<float>(size_.width));
    for (std::size_t layer = layers_; layer-- > 0;) {
      multiply(CUBLAS_OP_T, CUBLAS_OP_N, size_.tokens, size_.width, scale,
               virtual_stages_[one.virtual_stage].weights[layer].get(), gradient(one, layer + 1), 0,
               gradient(one, layer));
    }
  }
  void weight_gradients(step_action const& one) {
    layer_arrays& virtual_stage = virtual_stages_[one.virtual_stage];
    float const scale = std::sqrt(3.0f / static_cast<float>(size_.tokens));
    for (std::size_t layer = layers_; layer-- > 0;) {
      multiply(CUBLAS_OP_N, CUBLAS_OP_T, size_.width, size_.tokens, scale, gradient(one, layer + 1),
               activation(one, layer), virtual_stage.has_slopes ? 1.0f : 0.0f, virtual_stage.slopes[layer].get());
    }
    virtual_stage.has_slopes = true;
    if (is_first(one))  // the next step's input
      stir(train_.get(), size_.numbers, activation(one, 0), gradient(one, 0), size_.activation());
  }
  /// Sends go on a stream of their own, as soon as what is sent is made. What they read is written again only when the
  /// other stage has answered.
  void send(step_action const& one) {
    LULL_CUDA(cudaStreamWaitEvent(sends_.get(), virtual_stages_[one.virtual_stage].made[one.microbatch].get(), 0));
    links_.send(message(one, boundary::made), size_.activation(), size_.numbers, one.peer, sends_.get());
  }
  void receive(step_action const& one, runtime* side) {
    std::optional<bubble> idle;
    if (side != nullptr) idle.emplace(*side, train_.get(), site{site_of(one, schedule_)});
    links_.receive(message(one, boundary::needed), size_.activation(), size_.numbers, one.peer, train_.get());
  }
  void* message(step_action const& one, boundary which) {
    bool const is_needed = which == boundary::needed;
    if (one.pass == pass_kind::forward) return activation(one, is_needed ? 0 : layers_);
    return gradient(one, is_needed ? layers_ : 0);
  }
  void* activation(step_action const& one, std::size_t layer) {
    return virtual_stages_[one.virtual_stage].activations[one.microbatch * (layers_ + 1) + layer].get();
  }
  void* gradient(step_action const& one, std::size_t layer) {
    return virtual_stages_[one.virtual_stage].gradients[one.microbatch * (layers_ + 1) + layer].get();
  }
  bool is_first(step_action const& one) const { return me_.rank == 0 && one.virtual_stage == 0; }
  bool is_last(step_action const& one) const {
    return me_.rank == me_.world - 1 && one.virtual_stage + 1 == virtual_stages_.size();
  }
  template <class Work>
  void for_each_array(Work work) {
    auto const visit = [&](std::vector<device_buffer> const& all, std::uint64_t values) {
      for (device_buffer const& each : all) work(each.get(), values);
    };
    for (layer_arrays const& virtual_stage : virtual_stages_) {
      visit(virtual_stage.weights, size_.weights());
      visit(virtual_stage.slopes, size_.weights());
      visit(virtual_stage.activations, size_.activation());
      visit(virtual_stage.gradients, size_.activation());
    }
  }

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
  captured_step(stage& of, runtime* side) {
    LULL_CUDA(cudaStreamBeginCapture(of.stream(), cudaStreamCaptureModeThreadLocal));
    of.step(side, last_send::is_waited_for);
    cudaGraph_t graph{};
    LULL_CUDA(cudaStreamEndCapture(of.stream(), &graph));
    graph_ = cuda_graph{graph};
    LULL_CUDA(cudaGraphUpload(graph_.executable(), of.stream()));
  }
  void launch(cudaStream_t stream) const { LULL_CUDA(cudaGraphLaunch(graph_.executable(), stream)); }

 private:
  cuda_graph graph_;
};

}  // namespace lull::bench
