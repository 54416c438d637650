// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lull/graph/betweenness/betweenness_arrays.hpp>
#include <lull/graph/betweenness/verify_betweenness.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/graph/betweenness/small_betweenness.hpp>
#include <lull/tests/graph/edges_graph.hpp>

namespace lull {

/// Two sources in items of 16 edges and parts of 4, over a grid, a hub whose row takes several stages, and a path out
/// of it, so that levels are large and small.
class small_betweenness_owner final : public task_owner {
 public:
  small_betweenness_owner() {
    using namespace test;
    constexpr std::uint32_t side = 4;
    constexpr std::uint32_t hub = side * side + 3;
    constexpr std::uint32_t path = side * side + 45;
    edges made = beside(beside(grid_of(side), star_of(45, 3), side * side), path_of(6), path);
    made.push_back({side + 2, hub});
    made.push_back({side + 2, hub});
    made.push_back({hub + 30, path});
    graph_ = graph_of(path + 8, made, mirror::all);  // nothing leads to the last two
  }

  void prepare(executor& executor) override { arrays_.emplace(executor, graph_, sources_); }
  /// Without a type: the suite runs the task wrapped, and knows the type of that.
  job_description describe() const override {
    small_betweenness const task = arrays_.value().task();
    job_description made;
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override { arrays_.value().reset(); }
  std::vector<task_array> arrays() const override { return arrays_.value().written(); }
  verification verify() override {
    if (arrays_.value().progress().phase != betweenness_phase::end) return {false, "the run is not over"};
    return verify_betweenness(graph_, sources_, arrays_->totals());
  }
  std::vector<std::string> write() override { return {}; }

 private:
  csr graph_;
  std::vector<std::uint32_t> const sources_{0, 40};
  std::optional<betweenness_arrays<small_betweenness>> arrays_;
};

}  // namespace lull
