// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <lull/graph/bfs/bfs_arrays.hpp>
#include <lull/graph/bfs/bfs_summary.hpp>
#include <lull/graph/bfs/bfs_together_arrays.hpp>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/graph/bfs/small_bfs.hpp>
#include <lull/tests/graph/row_lengths.hpp>

namespace lull {

/// A graph with a hub of many items of 16 edges, with rows about the borders of items and of two probes, and with
/// vertices that nothing leads to.
inline csr small_bfs_graph() {
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
  return made;
}

/// Searches over a graph, which must push and pull; `Arrays` is bfs_arrays or bfs_together_arrays.
template <class Arrays>
class searches_owner final : public task_owner {
 public:
  /// `at_once`: of bfs_together_arrays.
  searches_owner(csr graph, std::vector<std::uint32_t> sources, std::uint32_t at_once = 1)
      : graph_(std::move(graph)), sources_(std::move(sources)), at_once_(at_once) {}

  void prepare(executor& executor) override {
    if constexpr (std::is_constructible_v<Arrays, lull::executor&, csr const&, std::vector<std::uint32_t> const&>) {
      arrays_.emplace(executor, graph_, sources_);
    } else {
      arrays_.emplace(executor, graph_, sources_, at_once_);
    }
  }
  /// Without a type: the suite runs the task wrapped, and knows the type of that.
  job_description describe() const override {
    auto const task = arrays_.value().task();
    job_description made;
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override { arrays_.value().reset(); }
  std::vector<task_array> arrays() const override { return arrays_.value().written(); }
  verification verify() override {
    bfs_summary const end = arrays_.value().summary();
    verification last;
    arrays_->each_found([&](std::uint64_t search, std::vector<bfs_found> const& found) {
      last = verify_bfs(graph_, sources_[search], found);
      return last.ok;
    });
    if (!last.ok) return {false, last.message};
    return {end.over && end.pulled != 0 && end.pushed != 0,
            std::to_string(end.pushed) + " levels pushed, " + std::to_string(end.pulled) + " pulled"};
  }
  std::vector<std::string> write() override { return {}; }

 private:
  csr const graph_;
  std::vector<std::uint32_t> const sources_;
  std::uint32_t const at_once_;
  std::optional<Arrays> arrays_;
};

}  // namespace lull
