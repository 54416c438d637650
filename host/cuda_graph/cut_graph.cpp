// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <lull/host/cuda_graph/graph_task.hpp>

namespace lull {

std::string text_of(cut_graph const& cut) {
  using microseconds = std::chrono::duration<double, std::micro>;
  auto const us = [](std::chrono::nanoseconds time) { return microseconds{time}.count(); };
  char text[160];
  std::snprintf(text, sizeof text,
                "%u nodes in %u segments, %.1f us each in the mean; the longest node takes %.1f us: ", cut.nodes,
                cut.segments, cut.segments != 0 ? us(cut.step) / cut.segments : 0, us(cut.max_node));
  return text + cut.max_node_name;
}

}  // namespace lull
