// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <lull/graph/graph_input.hpp>
#include <lull/graph/highest.hpp>
#include <lull/graph/triangles/triangles_arrays.hpp>
#include <lull/graph/triangles/triangles_owner.hpp>
#include <lull/graph/triangles/verify_triangles.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/task/output_files.hpp>
#include <optional>
#include <utility>

namespace lull {
namespace {

using std::filesystem::path;

constexpr option own_options[] = {
    {"out", option_kind::path, "", "", "file for the counts: vertex, tab, its triangles a line"},
    {"top", option_kind::integer, "10", "[0, 1000]", "how many vertices to list, those with most triangles first"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "pieces of up to 2048 lookups in a chunk"},
    {"trials", option_kind::integer, "1", "[1, 1000000]",
     "number of runs in a job, each from the start, as benchmarks repeat them"},
};

using counting = triangles_arrays<triangles>;

constexpr auto triangles_options = with_graph_options(own_options);

class triangles_owner final : public task_owner {
 public:
  explicit triangles_owner(option_values const& values)
      : values_(values), input_("triangles", values_, graph_input::weights::dropped, symmetric_entries::once) {}

  /// A graph in a file is read, so that its size is known.
  memory_need needs(executor_kind /*kind*/) override try {
    graph_input::extent const size = input_.size();
    // A generated graph has each edge in both directions; one in a file may have each edge once.
    std::uint64_t const undirected = input_.generated_by().empty() ? size.edges : size.edges / 2;
    std::uint64_t const items = counting::expected_items(undirected);
    std::uint64_t const orienting = 10 * size.edges + 24 * size.vertices;  // see orient
    std::uint64_t const planning = undirected * (sizeof(std::uint32_t) + 18) + items * sizeof(triangle_item) +
                                   16 * size.vertices;  // see plan_triangles
    return {.machine_bytes = counting::bytes(size.vertices, undirected, items),
            .host_bytes =
                size.bytes() - std::min(size.bytes(), input_.held_bytes()) + size.vertices * sizeof(std::uint32_t),
            .preparing_bytes = std::max({size.bytes(), orienting, planning}),
            .smaller = input_.generated_by()};
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  void check_outputs() const override { check_output_files("triangles", values_, {"out"}); }

  void prepare(executor& executor) override try {
    check_outputs();
    csr graph = input_.take();
    arrays_.emplace(executor, graph, static_cast<std::uint32_t>(values_.integer("trials")));
    graph_ = std::move(graph);
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  bool may_give_way() const override { return true; }

  job_description describe() const override {
    job_description made = lull::describe(arrays_.value().task(), "triangles");
    made.grain = static_cast<std::uint32_t>(values_.integer("grain"));
    return made;
  }

  std::uint64_t max_rounds() const override { return arrays_.value().task().rounds(); }
  void reset() override { arrays_.value().reset(); }

  std::vector<task_array> arrays() const override { return arrays_.value().written(); }

  std::vector<path> inputs() const override { return input_.files(); }
  std::vector<path> outputs() const override { return output_files(values_, {"out"}); }

  verification verify() override {
    auto const verdict = verify_triangles(graph_, arrays_.value().counts(), arrays_->total());
    return {verdict.ok, verdict.message};
  }

  std::vector<std::string> write() override {
    std::vector<std::uint64_t> const counts = arrays_.value().counts();
    std::vector<std::string> lines = sum_up();
    if (values_.has("out")) {
      write_counts(counts);
      lines.push_back("triangles of each vertex: " + values_.path("out").string());
    }
    list_top(counts, lines);
    return lines;
  }

  std::vector<task_figure> figures() const override {
    return {{"triangles", static_cast<double>(arrays_.value().total())},
            {"wedges", static_cast<double>(arrays_->wedges())},
            {"transitivity", transitivity()}};
  }

 private:
  /// Of the pairs of edges that meet, how many are two sides of a triangle; 0 where no edges meet.
  double transitivity() const {
    auto const wedges = static_cast<double>(arrays_.value().wedges());
    return wedges == 0 ? 0 : 3 * static_cast<double>(arrays_->total()) / wedges;
  }

  std::vector<std::string> sum_up() const {
    std::uint64_t const total = arrays_.value().total();
    char text[160];
    std::snprintf(text, sizeof text, "transitivity: %.6g, of %llu wedges (pairs of edges that meet)", transitivity(),
                  static_cast<unsigned long long>(arrays_->wedges()));
    return {std::to_string(total) + (total == 1 ? " triangle" : " triangles") + " among " +
                std::to_string(graph_.vertices()) + " vertices and " + std::to_string(arrays_->edges()) +
                " undirected edges",
            text};
  }

  void write_counts(std::vector<std::uint64_t> const& counts) const {
    atomic_file file{values_.path("out")};
    for (std::size_t vertex = 0; vertex < counts.size(); ++vertex) {
      file.write(std::to_string(vertex) + '\t' + std::to_string(counts[vertex]) + '\n');
    }
    file.commit();
  }

  void list_top(std::vector<std::uint64_t> const& counts, std::vector<std::string>& lines) const {
    std::vector<std::uint32_t> const first =
        places_of_highest(counts, static_cast<std::size_t>(values_.integer("top")));
    if (first.empty()) return;
    lines.push_back("vertices in most triangles, of " + std::to_string(counts.size()) + ":");
    for (std::size_t place = 0; place < first.size(); ++place) {
      char text[96];
      std::snprintf(text, sizeof text, "%4zu  %llu  vertex %u", place + 1,
                    static_cast<unsigned long long>(counts[first[place]]), first[place]);
      lines.emplace_back(text);
    }
  }

  option_values values_;
  graph_input input_;
  csr graph_;  // as it was loaded
  std::optional<counting> arrays_;
};

}  // namespace

task_entry triangles_entry() {
  return {.name = "triangles",
          .help = "count the triangles of a graph, in total and at each vertex",
          .example = "triangles:kronecker=20,out=triangles.tsv",
          .options = triangles_options,
          .type = [](option_values const&) { return type_of<triangles>(); },
          .make = [](option_values const& values) -> std::unique_ptr<task_owner> {
            return std::make_unique<triangles_owner>(values);
          }};
}

}  // namespace lull
