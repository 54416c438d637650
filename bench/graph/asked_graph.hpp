// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/graph/graph_input.hpp>
#include <lull/host/task/task_request.hpp>

namespace lull::bench {

/// The graph that a task's options name, as its owner takes it. Errors as of graph_input::take.
inline csr asked_graph(task_request const& asked) {
  auto const weights = asked.name == "sssp" ? graph_input::weights::needed : graph_input::weights::dropped;
  return graph_input{asked.name, asked.values, weights}.take();
}

}  // namespace lull::bench
