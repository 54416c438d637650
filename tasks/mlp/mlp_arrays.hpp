// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tasks/mlp/labelled_rows.hpp>
#include <lull/tasks/mlp/mlp.hpp>

namespace lull {

/// One layer's parameters on the host.
struct layer_values {
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  std::vector<float> weights;  // (inputs, outputs)
  std::vector<float> bias;     // (outputs,)
};

/// Returns parameters that are uniform in ±1/√inputs, drawn by counter_random{seed, layer}: weights row by row, then
/// biases.
std::vector<layer_values> first_layers(std::span<std::uint32_t const> sizes, std::uint64_t seed);

struct mlp_settings {
  std::uint32_t epochs = 30;
  std::uint32_t batch = 64;
  std::uint64_t seed = 1;
  float scale = 1;
  float rate = 0.001f;
  float mean_decay = 0.9f;
  float square_decay = 0.999f;
  float epsilon = 1e-8f;
  float weight_decay = 0.01f;
  mlp_precision precision = mlp_precision::fp32;
  bool scaled_columns = false;  // the rows are scaled by columns, so a checkpoint without that does not fit
};

/// The named rows of a table, one after another.
struct row_table {
  std::vector<float> values;          // (rows, features)
  std::vector<std::uint32_t> labels;  // (rows,)
};
row_table table_of(labelled_rows const& all, std::span<std::uint32_t const> which);

/// The arrays for training or asking a perceptron, on a machine. Destroy them before the machine.
class mlp_arrays {
 public:
  /// For training. Without `training` rows it only judges, and keeps the answers. Throws limit_error.
  mlp_arrays(executor& executor, std::span<layer_values const> layers, row_table const& training,
             row_table const& held_out, mlp_settings const& settings);

  /// `sizes`: of the features, the hidden layers, the classes. `training_rows` 0: only judging.
  static memory_need needs(std::span<std::uint32_t const> sizes, std::uint64_t training_rows,
                           std::uint64_t held_out_rows, mlp_settings const& settings);

  mlp_task task() const noexcept { return {model_.data()}; }
  job_description describe(std::string name) const { return lull::describe(task(), std::move(name)); }
  std::uint64_t rounds() const noexcept { return rounds_; }
  /// Returns the arrays that a run writes; widths of layers are rounded up to a multiple of 8.
  std::vector<task_array> written() const;
  /// Resets to the first layers, and to zeros.
  void reset();

  std::vector<layer_values> layers() const;                              // in their own sizes, without what was added
  std::vector<double> epoch_loss() const { return epoch_loss_.read(); }  // sums over the training rows
  std::vector<std::uint64_t> epoch_right() const { return epoch_right_.read(); }
  bool stopped() const { return stopped_.read().front() != 0; }
  std::vector<std::uint32_t> answers() const { return answers_.read(); }
  std::vector<float> certainty() const { return certainty_.read(); }

 private:
  struct layer_arrays {
    device_array<float> weights[3];  // value, mean, square
    device_array<float> bias[3];
    device_array<bfloat16> operand;  // in bf16 alone
    device_array<std::byte> output;  // in the precision of products, as the next
    device_array<std::byte> gradient;
  };

  executor& executor_;
  std::vector<layer_values> first_;
  mlp_precision precision_;
  std::uint64_t rounds_ = 0;
  std::vector<layer_arrays> layers_;
  device_array<float> values_[2];  // of training and held-out rows
  device_array<std::uint32_t> labels_[2];
  device_array<std::byte> inputs_[2];
  device_array<std::uint32_t> batch_labels_[2];
  device_array<float> logits_;
  device_array<float> loss_;
  device_array<std::uint32_t> right_;
  device_array<double> epoch_loss_;
  device_array<std::uint64_t> epoch_right_;
  device_array<std::uint32_t> answers_;
  device_array<float> certainty_;
  device_array<std::uint32_t> stopped_;
  device_array<std::uint32_t> scaled_columns_;  // (1,) 0; only so that checkpoints tell
  device_array<mlp_model> model_;
};

}  // namespace lull
