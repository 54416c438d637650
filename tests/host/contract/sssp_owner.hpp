// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lull/graph/sssp/sssp_arrays.hpp>
#include <lull/graph/sssp/verify_sssp.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/graph/edges_graph.hpp>
#include <lull/tests/graph/sssp/small_sssp.hpp>

namespace lull {

/// Two searches in items of 16 edges, with floats as weights, over a grid, a hub of many items and a path out of them,
/// so that waves are large and small, buckets follow each other, and vertices become nearer after they were far.
class small_sssp_owner final : public task_owner {
 public:
  small_sssp_owner() {
    using namespace test;
    constexpr std::uint32_t side = 6;
    constexpr std::uint32_t hub = side * side + 3;
    constexpr std::uint32_t path = side * side + 60;
    edges made = beside(beside(grid_of(side), star_of(60, 3), side * side), path_of(15), path);
    made.push_back({side + 2, hub});
    made.push_back({hub + 40, path});
    graph_ = graph_of(end + 2, made, mirror::all);  // nothing leads to the last two
    draw_weights(graph_, 3, 40);
    for (float& weight : graph_.weights) weight = (weight - 1) / 8;  // some are 0
  }

  void prepare(executor& executor) override {
    arrays_.emplace(executor, graph_, graph_.weights, kind_of_weights(graph_), sources_, 2.5);
  }
  /// Without a type: the suite runs the task wrapped, and knows the type of that.
  job_description describe() const override {
    small_sssp const task = arrays_.value().task();
    job_description made;
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override { arrays_.value().reset(); }
  std::vector<task_array> arrays() const override { return arrays_.value().written(); }
  verification verify() override {
    std::string last;
    for (std::size_t search = 0; search < sources_.size(); ++search) {
      sssp_verdict const verdict =
          verify_sssp(graph_, weight_kind::real, sources_[search], arrays_.value().found(search));
      last = verdict.message;
      if (!verdict.ok) return {false, last};
    }
    return {arrays_->progress().phase == sssp_phase::end, last};
  }
  std::vector<std::string> write() override { return {}; }

 private:
  static constexpr std::uint32_t end = 6 * 6 + 60 + 15;

  csr graph_;
  std::vector<std::uint32_t> const sources_{0, end - 1};
  std::optional<sssp_arrays<small_sssp>> arrays_;
};

}  // namespace lull
