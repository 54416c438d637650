// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lull/graph/pagerank/pagerank_arrays.hpp>
#include <lull/graph/pagerank/verify_pagerank.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/graph/row_lengths.hpp>

namespace lull {

/// PageRank in tiles of 16 edges and blocks of 4 tiles, so that a graph small enough for the contract reaches what
/// large ones do.
using small_pagerank = basic_pagerank<16, 4, 32>;

/// A few sweeps over a graph with rows that end with a tile and with a block, adjacent rows over many blocks, rows
/// without edges, many rows in a tile, and a last tile that is not full.
class small_pagerank_owner final : public task_owner {
 public:
  small_pagerank_owner() {
    std::vector<std::uint32_t> entering{0, 16, 0, 5, 11, 0, 0, 300, 150, 1, 1, 1, 0, 1, 1, 1, 9, 15, 64, 0, 128, 200};
    for (std::uint32_t vertex = 0; vertex < 250; ++vertex) entering.push_back(vertex % 7 == 3 ? 5 : 0);
    entering.insert(entering.end(), {70, 3, 0});
    graph_ = test::graph_entered_by(entering);
  }

  void prepare(executor& executor) override {
    arrays_.emplace(executor, graph_, pagerank_settings{.sweeps = 4});
    max_chain_ = small_pagerank::max_chain(executor.kind() == executor_kind::cuda ? 32 : 4);
  }
  /// Without a type: the suite runs the task wrapped, and knows the type of that.
  job_description describe() const override {
    small_pagerank const task = arrays_.value().task();
    job_description made;
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override { arrays_.value().reset(); }
  std::vector<task_array> arrays() const override { return arrays_.value().written(); }
  verification verify() override {
    auto const verdict =
        verify_pagerank(graph_, arrays_.value().ranks(),
                        {.converged = false, .sweeps = arrays_->progress().sweeps, .max_chain = max_chain_});
    return {verdict.ok && arrays_->progress().sweeps == 4, verdict.message};
  }
  std::vector<std::string> write() override { return {}; }

 private:
  csr graph_;
  std::optional<pagerank_arrays<small_pagerank>> arrays_;
  std::uint64_t max_chain_ = 0;
};

}  // namespace lull
