// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <lull/graph/betweenness/betweenness_arrays.hpp>
#include <lull/graph/betweenness/betweenness_owner.hpp>
#include <lull/graph/betweenness/sampled_sources.hpp>
#include <lull/graph/betweenness/verify_betweenness.hpp>
#include <lull/graph/graph_owner.hpp>
#include <lull/graph/result_lines.hpp>
#include <lull/graph/search_sources.hpp>
#include <lull/host/error.hpp>
#include <string>

namespace lull {
namespace {

using std::filesystem::path;

constexpr option own_options[] = {
    {"source", option_kind::integer, "", "[0, 4294967294]", "the only vertex whose paths count, numbered as ids says"},
    {"sources", option_kind::path, "", "",
     "file with the vertices whose paths count, one id a line; their column may have a name"},
    {"samples", option_kind::integer, "4", "[1, 4294967295]",
     "how many sources to draw, of the vertices that an edge leaves; all of them where they are fewer"},
    {"sample_seed", option_kind::integer, "1", "[0, inf)", "random seed of drawn sources"},
    {"out", option_kind::path, "", "",
     "file for the results: vertex, centrality a line, with a tab, in digits that read back to the same double"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "items of 256 edges, or of vertices, in a chunk"},
};

constexpr auto betweenness_options = with_graph_options(own_options);

/// The shortest digits that read back to the same bits.
std::string text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

class betweenness_owner final : public graph_owner<betweenness_arrays<betweenness>> {
 public:
  explicit betweenness_owner(option_values const& values)
      : graph_owner("betweenness", values), sources_("betweenness", values_) {
    if (draws()) return;
    if (values_.given("samples") || values_.given("sample_seed"))
      throw usage_error("betweenness: samples and sample_seed are for drawn sources: leave out source and sources");
  }

  std::vector<path> inputs() const override { return sources_.files_after(input_.files()); }
  std::vector<std::string> notes() const override {
    std::vector<std::string> all = input_.notes();
    sources_.add_note(all);
    return all;
  }

  verification judge() override {
    betweenness_progress const end = arrays_.value().progress();
    if (end.phase != betweenness_phase::end) {
      return {false, "the run has not ended: " + std::to_string(end.source) + " of " +
                         std::to_string(sources_.count()) + " sources are done"};
    }
    return verify_betweenness(graph_, sources_.all(), arrays_->totals());
  }

  std::vector<std::string> write() override {
    std::vector<double> const totals = arrays_.value().totals();
    auto const highest = std::max_element(totals.begin(), totals.end());
    std::vector<std::string> lines{sources_.text() + ": " + std::to_string(arrays_->progress().reached) +
                                   " vertices reached; the highest is " + text_of(*highest) + ", of vertex " +
                                   std::to_string(input_.id_of(static_cast<std::uint64_t>(highest - totals.begin())))};
    write_values(values_, totals, input_.first_id(), text_of, "centralities", lines);
    return lines;
  }

  std::vector<task_figure> figures() const override {
    betweenness_progress const end = arrays_.value().progress();
    std::vector<double> const totals = arrays_->totals();
    return {{"sources", static_cast<double>(sources_.count())},
            {"reached", static_cast<double>(end.reached)},
            {"levels", static_cast<double>(end.levels)},
            {"highest", *std::max_element(totals.begin(), totals.end())}};
  }

 private:
  /// A graph in a file is read, so that its size is known; a list of sources, too.
  memory_need need(executor_kind kind) override {
    graph_extent const size = input_.size();
    sources_.find(size.vertices, input_.first_id());
    std::uint64_t const count = draws() ? std::min(samples(), size.vertices) : sources_.count();
    std::uint64_t const machine_bytes = betweenness_arrays<betweenness>::bytes(size, count);
    memory_need made =
        input_.need_with_transpose(machine_bytes, kind == executor_kind::threads ? machine_bytes - size.bytes() : 0);
    made.preparing_bytes = std::max(made.preparing_bytes, verify_betweenness_bytes(size.vertices));
    return made;
  }

  betweenness_arrays<betweenness> fill(executor& executor, csr& graph) override {
    sources_.find(graph.vertices(), input_.first_id());
    if (draws())
      sources_.take(sample_sources(graph, samples(), static_cast<std::uint64_t>(values_.integer("sample_seed"))));
    return {executor, graph, sources_.all()};
  }

  bool draws() const { return !values_.given("source") && !values_.given("sources"); }
  std::uint64_t samples() const { return static_cast<std::uint64_t>(values_.integer("samples")); }

  search_sources sources_;
};

}  // namespace

task_entry betweenness_entry() {
  return {.name = "betweenness",
          .help = "how much of the shortest paths of a graph lies on each vertex, from sampled sources",
          .example = "betweenness:kronecker=20,samples=16,out=centrality.tsv",
          .options = betweenness_options,
          .type = [](option_values const&) { return type_of<betweenness>(); },
          .make = make_owner<betweenness_owner>};
}

}  // namespace lull
