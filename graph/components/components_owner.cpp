// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/components/components_owner.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lull/graph/components/components_arrays.hpp>
#include <lull/graph/components/verify_components.hpp>
#include <lull/graph/csr/symmetric.hpp>
#include <lull/graph/graph_input.hpp>
#include <lull/graph/highest.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/task/output_files.hpp>

namespace lull {
namespace {

using std::filesystem::path;

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
  std::vector<std::uint32_t> largest(std::size_t count) const {
    return places_of_highest(size_, std::min(count, count_));
  }

 private:
  std::vector<std::uint32_t> size_;  // (vertices,) 0: no label
  std::size_t count_ = 0;
};

std::string of_vertices(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " vertex" : " vertices"); }

class components_owner final : public task_owner {
 public:
  explicit components_owner(option_values const& values)
      : values_(values), input_("components", values_, graph_input::weights::dropped) {}

  /// A graph in a file is read, so that its size is known.
  memory_need needs(executor_kind /*kind*/) override try {
    graph_input::extent const size = input_.size();
    std::uint64_t const graph = size.bytes();
    bool const generated = !input_.generated_by().empty();
    // One in a file is transposed; the generators say what they take.
    std::uint64_t const making = graph + (generated ? graph / 2 : 8 * size.edges);
    std::uint64_t const judging = size.vertices * 5 * sizeof(std::uint32_t);  // labels, sets and the lowest of each
    return {.machine_bytes = components_arrays<components>::bytes(size.vertices, size.edges),
            .host_bytes = graph - std::min(graph, input_.held_bytes()),
            .preparing_bytes = std::max(making, judging),
            .smaller = input_.generated_by()};
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  void check_outputs() const override { check_output_files("components", values_, {"out"}); }

  void prepare(executor& executor) override try {
    check_outputs();
    csr graph = input_.take();
    // Generated graphs are symmetric by their contract.
    bool const symmetric = !input_.generated_by().empty() || is_symmetric(graph);
    arrays_.emplace(executor, graph, symmetric ? edge_directions::both : edge_directions::one,
                    static_cast<std::uint32_t>(values_.integer("trials")));
    graph_ = std::move(graph);
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  bool may_give_way() const override { return true; }

  job_description describe() const override {
    job_description made = lull::describe(arrays_.value().task(), "components");
    made.grain = static_cast<std::uint32_t>(values_.integer("grain"));
    return made;
  }

  void reset() override { arrays_.value().reset(); }

  std::vector<task_array> arrays() const override { return arrays_.value().written(); }

  std::vector<path> inputs() const override { return input_.files(); }
  std::vector<path> outputs() const override { return output_files(values_, {"out"}); }

  verification verify() override {
    if (arrays_.value().progress().pass != components_pass::over) return {false, "the run is not over"};
    std::vector<std::uint32_t> const labels = arrays_->labels();
    auto const verdict = verify_components(graph_, labels, component_sizes{labels}.count());
    return {verdict.ok, verdict.message};
  }

  std::vector<std::string> write() override {
    std::vector<std::uint32_t> const labels = arrays_.value().labels();
    component_sizes const sizes{labels};
    std::vector<std::uint32_t> const first = sizes.largest(std::max<std::size_t>(1, top()));
    std::vector<std::string> lines{std::to_string(sizes.count()) + (sizes.count() == 1 ? " component" : " components") +
                                   ", the largest of " + std::to_string(sizes.of(first.front())) + " of " +
                                   of_vertices(labels.size())};
    if (values_.has("out")) {
      write_labels(labels);
      lines.push_back("labels: " + values_.path("out").string());
    }
    if (top() == 0) return lines;
    lines.push_back("largest components:");
    for (std::size_t place = 0; place < first.size(); ++place) {
      char text[24];
      std::snprintf(text, sizeof text, "%4zu  ", place + 1);
      lines.push_back(text + of_vertices(sizes.of(first[place])) + ", the lowest is " + std::to_string(first[place]));
    }
    return lines;
  }

  std::vector<task_figure> figures() const override {
    component_sizes const sizes{arrays_.value().labels()};
    std::uint32_t const largest = sizes.of(sizes.largest(1).front());
    return {{"components", static_cast<double>(sizes.count())}, {"largest_vertices", static_cast<double>(largest)}};
  }

 private:
  std::size_t top() const { return static_cast<std::size_t>(values_.integer("top")); }

  void write_labels(std::vector<std::uint32_t> const& labels) const {
    atomic_file file{values_.path("out")};
    char line[32];
    for (std::size_t vertex = 0; vertex < labels.size(); ++vertex) {
      int const length = std::snprintf(line, sizeof line, "%zu\t%u\n", vertex, labels[vertex]);
      file.write({line, static_cast<std::size_t>(length)});
    }
    file.commit();
  }

  option_values values_;
  graph_input input_;
  csr graph_;
  std::optional<components_arrays<components>> arrays_;
};

}  // namespace

task_entry components_entry() {
  return {.name = "components",
          .help = "find the connected components of a graph, its edges without a direction",
          .example = "components:kronecker=20,out=labels.tsv",
          .options = components_options,
          .type = [](option_values const&) { return type_of<components>(); },
          .make = [](option_values const& values) -> std::unique_ptr<task_owner> {
            return std::make_unique<components_owner>(values);
          }};
}

}  // namespace lull
