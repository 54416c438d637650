// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/components/verify_components.hpp>

#include <numeric>
#include <utility>
#include <vector>

#include <lull/host/error.hpp>

namespace lull {
namespace {

/// Disjoint sets of vertices.
class vertex_sets {
 public:
  explicit vertex_sets(std::uint32_t vertices) : above_(vertices), size_(vertices, 1) {
    std::iota(above_.begin(), above_.end(), 0U);
  }

  std::uint32_t find(std::uint32_t vertex) {
    while (above_[vertex] != vertex) vertex = above_[vertex] = above_[above_[vertex]];
    return vertex;
  }

  void join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return;
    if (size_[a] < size_[b]) std::swap(a, b);
    above_[b] = a;
    size_[a] += size_[b];
  }

 private:
  std::vector<std::uint32_t> above_;
  std::vector<std::uint32_t> size_;  // of the set, where the vertex stands for it
};

std::string number(std::uint64_t value) { return std::to_string(value); }

}  // namespace

components_verdict verify_components(csr const& graph, std::span<std::uint32_t const> labels,
                                     std::uint64_t components) {
  validate(graph);
  std::uint32_t const vertices = graph.vertices();
  if (labels.size() != vertices)
    throw usage_error("verify_components: " + number(labels.size()) + " labels for " + number(vertices) + " vertices");
  vertex_sets sets{vertices};
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    for (std::uint64_t edge = graph.offsets[vertex]; edge < graph.offsets[vertex + 1ULL]; ++edge)
      sets.join(vertex, graph.targets[edge]);
  }
  components_verdict verdict;
  std::vector<std::uint32_t> lowest(vertices, vertices);  // of the set, where the vertex stands for it
  std::string wrong;                                      // the first
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    std::uint32_t& label = lowest[sets.find(vertex)];
    if (label == vertices) {
      label = vertex;
      ++verdict.components;
    }
    if (labels[vertex] == label || !wrong.empty()) continue;
    wrong = "vertex " + number(vertex) + " has the label " + number(labels[vertex]);
    if (labels[vertex] >= vertices) {
      wrong += ", but there are " + number(vertices) + " vertices";
    } else if (sets.find(labels[vertex]) != sets.find(vertex)) {
      wrong += ", which is in another component: the lowest vertex of its own is " + number(label);
    } else {
      wrong += ", but the lowest vertex of its component is " + number(label);
    }
  }
  if (!wrong.empty()) {
    verdict.message = wrong;
  } else if (components != verdict.components) {
    verdict.message = number(components) + " components were counted, but the graph has " + number(verdict.components);
  } else {
    verdict.ok = true;
    verdict.message = "each of " + number(vertices) + " vertices has the lowest vertex of its component as label; " +
                      number(components) + (components == 1 ? " component" : " components");
  }
  return verdict;
}

}  // namespace lull
