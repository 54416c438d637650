// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lull/graph/triangles/triangles_arrays.hpp>
#include <lull/graph/triangles/verify_triangles.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/graph/triangle_graphs.hpp>

namespace lull {

/// Triangles in items of 32 lookups, 8 pairs and lists of 16, so that a graph small enough for the contract reaches
/// what large ones do.
using small_triangles = basic_triangles<32, 8, 16, 32>;

/// Triangles of a graph with rows longer than a list, pairs longer than an item, items of many pairs, hubs at which
/// most items count, and vertices without edges.
class small_triangles_owner final : public task_owner {
 public:
  void prepare(executor& executor) override { arrays_.emplace(executor, graph_, 2); }
  /// Without a type: the suite runs the task wrapped, and knows the type of that.
  job_description describe() const override {
    small_triangles const task = arrays_.value().task();
    job_description made;
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override { arrays_.value().reset(); }
  std::vector<task_array> arrays() const override { return arrays_.value().written(); }
  verification verify() override { return verify_triangles(graph_, arrays_.value().counts(), arrays_->total()); }
  std::vector<std::string> write() override { return {}; }

 private:
  csr const graph_ = test::medley();
  std::optional<triangles_arrays<small_triangles>> arrays_;
};

}  // namespace lull
