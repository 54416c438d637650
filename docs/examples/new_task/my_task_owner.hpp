// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <my_task.hpp>

#include <lull/host/array.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/host/task/owner.hpp>

/// The task's host half: its arrays, and the verification of its result.
class my_task_owner final : public lull::task_owner {
 public:
  explicit my_task_owner(std::uint64_t values) : values_(values), host_(2 * values) {
    lull::counter_random const random{1, 0};
    for (std::uint64_t i = 0; i < host_.size(); ++i) host_[i] = static_cast<float>(random.below(i, 2001)) / 1000 - 1;
  }

  void prepare(lull::executor& executor) override {
    in_ = {executor, host_};
    sums_ = {executor, task().tiles() + 1};
  }
  lull::job_description describe() const override { return lull::describe(task(), "my_task"); }
  void reset() override { sums_.fill_zero(); }
  /// All that the task writes. With the cursor it is the task's whole state between two bubbles.
  std::vector<lull::task_array> arrays() const override { return {lull::array_of("sums", sums_)}; }

  /// One product after the other, in long double. No product is above 1, so that n of them, added in whatever order,
  /// err by less than n²u, u = 2⁻⁵³ (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
  lull::verification verify() override {
    long double expected = 0;
    for (std::uint64_t i = 0; i < values_; ++i) expected += static_cast<long double>(host_[i]) * host_[values_ + i];
    double const found = sums_.read().back();
    auto const n = static_cast<long double>(values_);
    return {std::abs(found - expected) < n * n * 0x1p-53L,
            std::to_string(found) + ", expected " + std::to_string(expected)};
  }
  std::vector<std::string> write() override { return {"dot product: " + std::to_string(sums_.read().back())}; }

 private:
  side_tasks::my_task task() const { return {in_.data(), in_.data() + values_, sums_.data(), values_}; }

  std::uint64_t const values_;
  std::vector<float> host_;  // both vectors, one after the other
  lull::device_array<float> in_;
  lull::device_array<double> sums_;
};
