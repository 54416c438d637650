// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include <lull/tasks/mlp/program.hpp>
#include <lull/tasks/product/bfloat16.hpp>

namespace lull {

/// The precision of products' operands. Sums and parameters are always fp32.
enum class mlp_precision : std::uint32_t { fp32, bf16 };

/// A parameter under AdamW.
struct adamw_state {
  float* value;
  float* mean;    // of its gradients
  float* square;  // mean of their squares
};

/// Sizes are rounded up to multiples of 8. The added numbers are zero and stay zero: so are their gradients, whatever
/// they are multiplied by.
struct mlp_layer {
  std::uint32_t inputs;
  std::uint32_t outputs;
  adamw_state weights;  // (inputs, outputs)
  adamw_state bias;     // (outputs,)
  // In the precision of products:
  void* operand;   // (inputs, outputs) the weights; in fp32 the very same
  void* output;    // (batch, outputs) activations; of the last layer null
  void* gradient;  // (batch, outputs) of the loss by what stands there before the activation
};

/// Rows with their classes, on the machine.
struct mlp_rows {
  float const* values;          // (rows, features)
  std::uint32_t const* labels;  // (rows,)
  std::uint32_t rows;
};

/// A perceptron, its data, and how it is trained. In the machine's memory; constant while a job runs.
struct mlp_model {
  static constexpr std::uint32_t max_layers = 9;

  mlp_program program;
  mlp_precision precision;
  mlp_layer layers[max_layers];
  mlp_rows training;
  mlp_rows held_out;
  std::uint32_t batch;
  std::uint32_t features;
  std::uint32_t classes;
  float scale;         // of all features
  std::uint64_t seed;  // of the shuffles
  float rate;
  float mean_decay;    // beta 1
  float square_decay;  // beta 2
  float epsilon;
  float weight_decay;
  void* inputs[2];             // (batch, inputs of layer 0) each, in the precision of products: batches in turn
  std::uint32_t* labels[2];    // (batch,) each
  float* logits;               // (batch, outputs of the last layer), or null where a tile holds all of a row's
  float* loss;                 // (batch,)
  std::uint32_t* right;        // (batch,) 1 or 0
  double* epoch_loss;          // (epochs,) sums over rows
  std::uint64_t* epoch_right;  // (epochs,)
  std::uint32_t* answers;      // (held-out rows,) classes, or null
  float* certainty;            // (held-out rows,) probabilities of those, or null
  std::uint32_t* stopped;      // (1,) 1: a loss was no number
};

/// One step of AdamW; `step` counts from 1. Source: Loshchilov, Hutter, "Decoupled weight decay regularization", ICLR
/// 2019, algorithm 2.
class adamw {
 public:
  LULL_HD adamw(mlp_model const& model, std::uint64_t step) noexcept
      : rate_(model.rate),
        kept_(1 - model.rate * model.weight_decay),
        mean_decay_(model.mean_decay),
        square_decay_(model.square_decay),
        epsilon_(model.epsilon),
        mean_scale_(1 / (1 - std::pow(model.mean_decay, static_cast<float>(step)))),
        square_scale_(1 / (1 - std::pow(model.square_decay, static_cast<float>(step)))) {}

  LULL_HD void apply(float& value, float& mean, float& square, float gradient) const noexcept {
    mean = mean_decay_ * mean + (1 - mean_decay_) * gradient;
    square = square_decay_ * square + (1 - square_decay_) * gradient * gradient;
    value = value * kept_ - rate_ * (mean * mean_scale_) / (std::sqrt(square * square_scale_) + epsilon_);
  }

  /// Updates eight neighbours, all read before any is written. Returns the new values.
  LULL_HD eight<float> apply(adamw_state const& of, std::uint64_t at, float const* gradients) const noexcept {
    auto value = eight<float>::from(of.value + at);
    auto mean = eight<float>::from(of.mean + at);
    auto square = eight<float>::from(of.square + at);
    for (int i = 0; i < 8; ++i) apply(value.at[i], mean.at[i], square.at[i], gradients[i]);
    value.to(of.value + at);
    mean.to(of.mean + at);
    square.to(of.square + at);
    return value;
  }

 private:
  // Copies: otherwise these would be loaded from the model again after every store.
  float rate_;
  float kept_;  // of a parameter by its decay
  float mean_decay_;
  float square_decay_;
  float epsilon_;
  float mean_scale_;  // against the bias of means that began at 0
  float square_scale_;
};

}  // namespace lull
