// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lull/graph/kcore/kcore_arrays.hpp>
#include <lull/graph/kcore/verify_kcore.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/graph/kcore/small_kcore.hpp>

namespace lull {

/// Core numbers in items of 16 edges and 128 places, over a graph whose levels are of all kinds.
class small_kcore_owner final : public task_owner {
 public:
  void prepare(executor& executor) override { arrays_.emplace(executor, graph_); }
  /// Without a type: the suite runs the task wrapped, and knows the type of that.
  job_description describe() const override {
    small_kcore const task = arrays_.value().task();
    job_description made;
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override { arrays_.value().reset(); }
  std::vector<task_array> arrays() const override { return arrays_.value().written(); }
  verification verify() override {
    kcore_progress const end = arrays_.value().progress();
    if (end.phase != kcore_phase::end || end.list == 0) {
      return {false, "the run is not over, or no list was made: level " + std::to_string(end.level)};
    }
    return verify_kcore(graph_, arrays_->cores());
  }
  std::vector<std::string> write() override { return {}; }

 private:
  csr const graph_ = test::many_cores(200);
  std::optional<kcore_arrays<small_kcore>> arrays_;
};

}  // namespace lull
