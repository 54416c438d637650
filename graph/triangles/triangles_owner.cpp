// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <lull/graph/graph_owner.hpp>
#include <lull/graph/result_lines.hpp>
#include <lull/graph/triangles/triangles_arrays.hpp>
#include <lull/graph/triangles/triangles_owner.hpp>
#include <lull/graph/triangles/verify_triangles.hpp>

namespace lull {
namespace {

constexpr option own_options[] = {
    {"out", option_kind::path, "", "", "file for the counts: vertex, tab, its triangles a line"},
    {"top", option_kind::integer, "10", "[0, 1000]", "how many vertices to list, those with most triangles first"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "pieces of up to 2048 lookups in a chunk"},
    {"trials", option_kind::integer, "1", "[1, 1000000]",
     "number of runs in a job, each from the start, as benchmarks repeat them"},
};

using counting = triangles_arrays<triangles>;

constexpr auto triangles_options = with_graph_options(own_options);

class triangles_owner final : public graph_owner<counting> {
 public:
  explicit triangles_owner(option_values const& values)
      : graph_owner("triangles", values, graph_input::weights::dropped, symmetric_entries::once) {}

  std::uint64_t max_rounds() const override { return arrays_.value().task().rounds(); }

  verification judge() override { return verify_triangles(graph_, arrays_.value().counts(), arrays_->total()); }

  std::vector<std::string> write() override {
    std::vector<std::uint64_t> const counts = arrays_.value().counts();
    std::vector<std::string> lines = sum_up();
    write_values(
        values_, counts, input_.first_id(), [](std::uint64_t count) { return std::to_string(count); },
        "triangles of each vertex", lines);
    list_vertices(lines, "vertices in most triangles, of " + std::to_string(counts.size()) + ":",
                  top_vertices(counts, static_cast<std::size_t>(values_.integer("top"))), [&](std::uint32_t vertex) {
                    return std::to_string(counts[vertex]) + "  vertex " + std::to_string(input_.id_of(vertex));
                  });
    return lines;
  }

  std::vector<task_figure> figures() const override {
    return {{"triangles", static_cast<double>(arrays_.value().total())},
            {"wedges", static_cast<double>(arrays_->wedges())},
            {"transitivity", transitivity()}};
  }

 private:
  /// A graph in a file is read, so that its size is known.
  memory_need need(executor_kind /*kind*/) override {
    graph_extent const size = input_.size();
    // A generated graph has each edge in both directions; one in a file may have each edge once.
    std::uint64_t const undirected = input_.generated_by().empty() ? size.edges : size.edges / 2;
    std::uint64_t const items = counting::expected_items(undirected);
    std::uint64_t const orienting = 10 * size.edges + 24 * size.vertices;  // see orient
    std::uint64_t const planning = undirected * (sizeof(std::uint32_t) + 18) + items * sizeof(triangle_item) +
                                   16 * size.vertices;  // see plan_triangles
    return input_.need(counting::bytes({size.vertices, undirected}, items),
                       std::max({size.bytes(), orienting, planning}), size.vertices * sizeof(std::uint32_t));
  }

  counting fill(executor& executor, csr& graph) override {
    return {executor, graph, static_cast<std::uint32_t>(values_.integer("trials"))};
  }

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
};

}  // namespace

task_entry triangles_entry() {
  return {.name = "triangles",
          .help = "count the triangles of a graph, in total and at each vertex",
          .example = "triangles:kronecker=20,out=triangles.tsv",
          .options = triangles_options,
          .type = [](option_values const&) { return type_of<triangles>(); },
          .make = make_owner<triangles_owner>};
}

}  // namespace lull
