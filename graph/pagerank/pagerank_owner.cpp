// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <lull/graph/graph_owner.hpp>
#include <lull/graph/pagerank/pagerank_arrays.hpp>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/graph/pagerank/verify_pagerank.hpp>
#include <lull/graph/pagerank/vertex_names.hpp>
#include <lull/graph/result_lines.hpp>
#include <lull/host/error.hpp>

namespace lull {
namespace {

using std::filesystem::path;

constexpr option own_options[] = {
    {"damping", option_kind::real, "0.85", "[0, 1)", "damping factor: share of rank that follows the edges"},
    {"tolerance", option_kind::real, "1e-6", "(0, inf)", "stop when a sweep changes the ranks by less than this (L1)"},
    {"sweeps", option_kind::integer, "100", "[1, 1000000000]", "greatest number of sweeps, converged or not"},
    {"out", option_kind::path, "", "", "file for the ranks: vertex, tab, rank a line"},
    {"names", option_kind::path, "", "",
     "file with the vertices' names, one a line, the lowest vertex first, or each after its vertex's number and a tab, "
     "comma or semicolon; also gzip"},
    {"top", option_kind::integer, "10", "[0, 1000]", "how many vertices to list, highest rank first"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "tiles of 2048 edges in a chunk"},
};

constexpr auto pagerank_options = with_graph_options(own_options);

class pagerank_owner final : public graph_owner<pagerank_arrays<pagerank>> {
 public:
  explicit pagerank_owner(option_values const& values) : graph_owner("pagerank", values) {
    settings_ = {.damping = values.real("damping"),
                 .tolerance = values.real("tolerance"),
                 .sweeps = static_cast<std::uint64_t>(values.integer("sweeps"))};
  }

  std::uint64_t max_rounds() const override { return 1 + settings_.sweeps; }  // the first sets the ranks

  verification judge() override {
    pagerank_progress const end = arrays_.value().progress();
    return verify_pagerank(graph_, arrays_->ranks(),
                           {.damping = settings_.damping,
                            .tolerance = settings_.tolerance,
                            .converged = end.converged != 0,
                            .sweeps = end.sweeps,
                            .max_chain = max_chain_});
  }

  std::vector<std::string> write() override {
    std::vector<float> const ranks = arrays_.value().ranks();
    std::vector<std::string> lines{sum_up(arrays_->progress())};
    write_values(
        values_, ranks, input_.first_id(), [](float rank) { return formatted("%.9g", rank); }, "ranks", lines);
    list_vertices(lines, "highest ranks of " + std::to_string(ranks.size()) + " vertices:",
                  top_vertices(ranks, static_cast<std::size_t>(values_.integer("top"))), [&](std::uint32_t vertex) {
                    std::string const name =
                        names_.names.empty() ? "vertex " + std::to_string(input_.id_of(vertex)) : names_.names[vertex];
                    return formatted("%.6f  ", ranks[vertex]) + name;
                  });
    return lines;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> all = graph_owner::notes();
    if (!names_.note.empty()) all.push_back(names_.note);
    return all;
  }

  std::vector<task_figure> figures() const override {
    pagerank_progress const end = arrays_.value().progress();
    return {{"sweeps", static_cast<double>(end.sweeps)}, {"residual", end.change}};
  }

 private:
  /// A graph in a file is read, so that its size is known.
  memory_need need(executor_kind kind) override {
    graph_extent const size = input_.size();
    std::uint64_t const machine_bytes = pagerank_arrays<pagerank>::bytes(size);
    return input_.need_with_transpose(machine_bytes, kind == executor_kind::threads ? machine_bytes : 0);
  }

  pagerank_arrays<pagerank> fill(executor& executor, csr& graph) override {
    names_ = make_names(graph.vertices());
    // On CPU threads a team may be of any width; two leave the longest pieces to one thread.
    max_chain_ = pagerank::max_chain(executor.kind() == executor_kind::cuda ? pagerank::max_threads : 2);
    return {executor, graph, settings_};
  }

  vertex_names make_names(std::uint32_t vertices) const {
    if (!values_.has("names") && !input_.is_shipped()) return {};
    return read_vertex_names(
        values_.has("names") ? values_.path("names") : graph_input::shipped("debian12-packages.names.gz"), vertices,
        input_.first_id());
  }

  static std::string sum_up(pagerank_progress const& end) {
    char text[160];
    std::snprintf(text, sizeof text, "%s: %llu sweep%s, the last of which changed the ranks by %.3g (L1)",
                  end.converged != 0 ? "converged" : "not converged", static_cast<unsigned long long>(end.sweeps),
                  end.sweeps == 1 ? "" : "s", end.change);
    return text;
  }

  static std::string formatted(char const* format, float rank) {
    char text[64];
    std::snprintf(text, sizeof text, format, static_cast<double>(rank));
    return text;
  }

  pagerank_settings settings_;
  vertex_names names_;
  std::uint64_t max_chain_ = 0;
};

}  // namespace

task_entry pagerank_entry() {
  return {.name = "pagerank",
          .help = "rank the vertices of a graph by the links that lead to them",
          .example = "pagerank:kronecker=20,out=ranks.tsv",
          .options = pagerank_options,
          .type = [](option_values const&) { return type_of<pagerank>(); },
          .make = make_owner<pagerank_owner>};
}

}  // namespace lull
