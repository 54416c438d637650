// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/task/counter_random.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tasks/mlp/mlp_arrays.hpp>
#include <lull/tasks/mlp/reference.hpp>

namespace lull {

/// A perceptron with layers that are no multiple of a tile, last batches that are not full, fewer held-out rows than a
/// batch has, and few steps.
class small_mlp_owner final : public task_owner {
 public:
  explicit small_mlp_owner(mlp_precision precision = mlp_precision::fp32) { settings_.precision = precision; }

  void prepare(executor& executor) override {
    counter_random const random{3, 0};
    training_ = table(random, 0, 75);
    held_out_ = table(random, 10'000, 29);
    first_ = first_layers(std::vector<std::uint32_t>{9, 40, 34, 3}, 5);
    arrays_.emplace(executor, first_, training_, held_out_, settings_);
  }
  /// Without a type: the suite runs the task wrapped, and knows the type of that.
  job_description describe() const override {
    job_description made;
    mlp_task const task = arrays_->task();
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override { arrays_->reset(); }
  std::vector<task_array> arrays() const override { return arrays_->written(); }
  verification verify() override {
    double const loss = arrays_->epoch_loss().front() / 75;
    double const expected = reference_first_loss(first_, training_, settings_);
    std::uint64_t const right = arrays_->epoch_right().back();
    bool const rounds = settings_.precision == mlp_precision::bf16;
    reference_answers const found = reference_right(arrays_->layers(), held_out_, 1, rounds ? 0x1p-8 : 0x1p-24);
    char text[160];
    std::snprintf(text, sizeof text, "loss %.7f, expected %.7f; right %d, expected %d of which %d within rounding",
                  loss, expected, static_cast<int>(right), static_cast<int>(found.right),
                  static_cast<int>(found.unsure));
    std::uint64_t const apart = right > found.right ? right - found.right : found.right - right;
    return {std::abs(loss - expected) < (rounds ? 1e-2 : 1e-4) * expected && apart <= found.unsure && found.unsure < 10,
            text};
  }
  std::vector<std::string> write() override { return {}; }

 private:
  static row_table table(counter_random const& random, std::uint64_t from, std::uint32_t rows) {
    row_table made;
    for (std::uint32_t row = 0; row < rows; ++row) {
      float sum = 0;
      for (int i = 0; i < 9; ++i) {
        made.values.push_back(
            static_cast<float>(random.below(from + row * 9 + static_cast<std::uint64_t>(i), 1001)) / 500 - 1);
        sum += made.values.back();
      }
      made.labels.push_back(sum < -1 ? 0 : sum < 1 ? 1 : 2);
    }
    return made;
  }

  mlp_settings settings_{.epochs = 2, .batch = 33, .seed = 11, .rate = 0.01f};
  row_table training_;
  row_table held_out_;
  std::vector<layer_values> first_;
  std::optional<mlp_arrays> arrays_;
};

}  // namespace lull
