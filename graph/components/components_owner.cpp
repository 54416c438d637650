// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/components/components_owner.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <lull/graph/components/components_arrays.hpp>
#include <lull/graph/components/verify_components.hpp>
#include <lull/graph/csr/symmetric.hpp>
#include <lull/graph/graph_owner.hpp>
#include <lull/graph/result_lines.hpp>

namespace lull {
namespace {

constexpr option own_options[] = {
    {"out", option_kind::path, "", "", "file for the labels: vertex, tab, lowest vertex of its component a line"},
    {"top", option_kind::integer, "10", "[0, 1000]", "how many components to list, largest first"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "groups of 1024 vertices, or tiles of 2048 edges, in a chunk"},
    {"trials", option_kind::integer, "1", "[1, 1000000]",
     "number of runs in a job, each from the start, as benchmarks repeat them"},
};

constexpr auto components_options = with_graph_options(own_options);

/// How many vertices have each label.
class component_sizes {
 public:
  /// Labels that are no vertices are left out; a run makes none.
  explicit component_sizes(std::vector<std::uint32_t> const& labels) : size_(labels.size()) {
    for (std::uint32_t const label : labels) {
      if (label < size_.size()) ++size_[label];
    }
    count_ = size_.size() - static_cast<std::size_t>(std::count(size_.begin(), size_.end(), 0U));
  }

  std::size_t count() const { return count_; }
  std::uint32_t of(std::uint32_t label) const { return size_[label]; }

  /// The labels of the `count` largest, the largest first, equal ones by rising label.
  std::vector<std::uint32_t> largest(std::size_t count) const { return top_vertices(size_, std::min(count, count_)); }

 private:
  std::vector<std::uint32_t> size_;  // (vertices,) 0: no label
  std::size_t count_ = 0;
};

std::string of_vertices(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " vertex" : " vertices"); }

class components_owner final : public graph_owner<components_arrays<components>> {
 public:
  explicit components_owner(option_values const& values) : graph_owner("components", values) {}

  verification judge() override {
    if (arrays_.value().progress().pass != components_pass::over) return {false, "the run is not over"};
    std::vector<std::uint32_t> const labels = arrays_->labels();
    return verify_components(graph_, labels, component_sizes{labels}.count());
  }

  std::vector<std::string> write() override {
    std::vector<std::uint32_t> const labels = arrays_.value().labels();
    component_sizes const sizes{labels};
    std::vector<std::uint32_t> const first = sizes.largest(std::max<std::size_t>(1, top()));
    std::vector<std::string> lines{std::to_string(sizes.count()) + (sizes.count() == 1 ? " component" : " components") +
                                   ", the largest of " + std::to_string(sizes.of(first.front())) + " of " +
                                   of_vertices(labels.size())};
    write_values(
        values_, labels, input_.first_id(), [this](std::uint32_t label) { return std::to_string(input_.id_of(label)); },
        "labels", lines);
    if (top() == 0) return lines;
    list_vertices(lines, "largest components:", first, [&](std::uint32_t label) {
      return of_vertices(sizes.of(label)) + ", the lowest is " + std::to_string(input_.id_of(label));
    });
    return lines;
  }

  std::vector<task_figure> figures() const override {
    component_sizes const sizes{arrays_.value().labels()};
    std::uint32_t const largest = sizes.of(sizes.largest(1).front());
    return {{"components", static_cast<double>(sizes.count())}, {"largest_vertices", static_cast<double>(largest)}};
  }

 private:
  /// A graph in a file is read, so that its size is known.
  memory_need need(executor_kind /*kind*/) override {
    graph_extent const size = input_.size();
    std::uint64_t const graph = size.bytes();
    bool const generated = !input_.generated_by().empty();
    // One in a file is transposed; the generators say what they take.
    std::uint64_t const making = graph + (generated ? graph / 2 : 8 * size.edges);
    std::uint64_t const judging = size.vertices * 5 * sizeof(std::uint32_t);  // labels, sets and the lowest of each
    return input_.need(components_arrays<components>::bytes(size), std::max(making, judging));
  }

  components_arrays<components> fill(executor& executor, csr& graph) override {
    // Generated graphs are symmetric by their contract.
    bool const symmetric = !input_.generated_by().empty() || is_symmetric(graph);
    return {executor, graph, symmetric ? edge_directions::both : edge_directions::one,
            static_cast<std::uint32_t>(values_.integer("trials"))};
  }

  std::size_t top() const { return static_cast<std::size_t>(values_.integer("top")); }
};

}  // namespace

task_entry components_entry() {
  return {.name = "components",
          .help = "find the connected components of a graph, its edges without a direction",
          .example = "components:kronecker=20,out=labels.tsv",
          .options = components_options,
          .type = [](option_values const&) { return type_of<components>(); },
          .make = make_owner<components_owner>};
}

}  // namespace lull
