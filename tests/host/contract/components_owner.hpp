// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lull/graph/components/components_arrays.hpp>
#include <lull/graph/components/verify_components.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/graph/edges_graph.hpp>

namespace lull {

/// Connected components in groups of 64 vertices and tiles of 16 edges, so that a graph small enough for the contract
/// reaches what large ones do.
using small_components = basic_components<64, 16, 32>;

/// Connected components of a graph with a deep component, one with a hub over many tiles, cliques that only the last
/// pass joins, self-loops, duplicates, isolated vertices, and a last group and a last tile that are not full.
class small_components_owner final : public task_owner {
 public:
  explicit small_components_owner(edge_directions directions) : directions_(directions) {
    using namespace test;
    edges made = beside(path_of(100), star_of(45, 44), 100);
    made = beside(beside(made, cliques_of(3, 11), 150), {{0, 0}, {1, 3}, {1, 3}, {3, 1}, {2, 2}}, 190);
    graph_ = graph_of(197, made, directions == edge_directions::both ? mirror::all : mirror::none);
  }

  void prepare(executor& executor) override { arrays_.emplace(executor, graph_, directions_, 2); }
  /// Without a type: the suite runs the task wrapped, and knows the type of that.
  job_description describe() const override {
    small_components const task = arrays_.value().task();
    job_description made;
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override { arrays_.value().reset(); }
  std::vector<task_array> arrays() const override { return arrays_.value().written(); }
  verification verify() override {
    // The path, the star, the cliques, the pair, and each isolated vertex.
    constexpr std::uint64_t components = 1 + 1 + 3 + 1 + (197 - 100 - 45 - 33 - 2);
    auto const verdict = verify_components(graph_, arrays_.value().labels(), components);
    return {verdict.ok && arrays_->progress().pass == components_pass::over, verdict.message};
  }
  std::vector<std::string> write() override { return {}; }

 private:
  edge_directions directions_;
  csr graph_;
  std::optional<components_arrays<small_components>> arrays_;
};

}  // namespace lull
