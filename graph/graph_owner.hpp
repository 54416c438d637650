// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <lull/graph/graph_input.hpp>
#include <lull/host/task/array_owner.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lull {

/// The owner of a task over the graph that its options name: of the rows `graph_options`, `out` and `grain`. It keeps
/// the graph as it was loaded, to verify by.
template <class Arrays>
class graph_owner : public array_owner<Arrays> {
 public:
  job_description describe() const final {
    job_description made = array_owner<Arrays>::describe();
    made.grain = static_cast<std::uint32_t>(this->values_.integer("grain"));
    return made;
  }
  std::vector<std::filesystem::path> inputs() const override { return input_.files(); }

  std::vector<std::string> notes() const override { return input_.notes(); }
  verification verify() final {
    verification made = judge();
    bool const names_vertex = made.message.find("vertex ") != std::string::npos;
    if (!made.ok && names_vertex && input_.first_id() != 0)
      made.message += " (vertices counted from 0)";  // as verifiers do
    return made;
  }

 protected:
  graph_owner(std::string_view name, option_values const& values,
              graph_input::weights weights = graph_input::weights::dropped,
              symmetric_entries symmetric = symmetric_entries::both_ways)
      : array_owner<Arrays>(name, values, {"out"}), input_(name, this->values_, weights, symmetric) {}

  graph_input input_;
  csr graph_;

 private:
  /// What task_owner says of `verify`.
  virtual verification judge() = 0;
  /// Returns the arrays for a graph, of which it may take the weights.
  virtual Arrays fill(executor& executor, csr& graph) = 0;

  Arrays make(executor& executor) final {
    csr graph = input_.take();
    Arrays made = fill(executor, graph);
    graph_ = std::move(graph);
    return made;
  }
  limit_error too_large() const final { return input_.too_large(); }
};

}  // namespace lull
