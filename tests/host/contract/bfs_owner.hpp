// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lull/graph/bfs_arrays.hpp>
#include <lull/graph/verify_bfs.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/graph/row_lengths.hpp>
#include <lull/tests/graph/small_bfs.hpp>

namespace lull {

/// Two searches in items of 16 edges and two probes, over a graph with a hub of many items, with rows about the borders
/// of pieces and probes, and with vertices that nothing leads to. They push, pull, go on in `rest`, and push again.
class small_bfs_owner final : public task_owner {
 public:
  small_bfs_owner() {
    std::vector<std::uint32_t> entering{0, 16, 3, 5, 11, 0, 1, 300, 150, 1, 1, 1, 2, 1, 1, 1, 9, 15, 64, 0, 128, 33};
    for (std::uint32_t vertex = 0; vertex < 250; ++vertex) entering.push_back(vertex % 7);
    entering.insert(entering.end(), {70, 3, 0});
    csr made = test::graph_entered_by(entering);
    // A path out of it: levels of one vertex after those of many.
    for (std::uint32_t i = 0; i < 5; ++i) {
      made.targets.push_back(made.vertices());
      made.offsets.back() = made.targets.size();
      made.offsets.push_back(made.targets.size());
    }
    validate(made);
    graph_ = std::move(made);
  }

  void prepare(executor& machine) override { arrays_.emplace(machine, graph_, sources_); }
  /// Without a type: the suite runs the task wrapped, and knows the type of that.
  job_description describe() const override {
    small_bfs const task = arrays_.value().task();
    job_description made;
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override { arrays_.value().reset(); }
  std::vector<task_array> arrays() const override { return arrays_.value().written(); }
  verification verify() override {
    bfs_progress const end = arrays_.value().progress();
    for (std::size_t search = 0; search < sources_.size(); ++search) {
      auto const verdict = verify_bfs(graph_, sources_[search], arrays_->found(search));
      if (!verdict.ok) return {false, verdict.message};
    }
    return {end.phase == bfs_phase::end && end.pulled != 0 && end.pushed != 0,
            std::to_string(end.pushed) + " levels pushed, " + std::to_string(end.pulled) + " pulled"};
  }
  std::vector<std::string> write() override { return {}; }

 private:
  csr graph_;
  std::vector<std::uint32_t> const sources_{7, 20};
  std::optional<bfs_arrays<small_bfs>> arrays_;
};

}  // namespace lull
