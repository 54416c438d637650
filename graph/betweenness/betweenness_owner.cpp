// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <lull/graph/betweenness/betweenness_arrays.hpp>
#include <lull/graph/betweenness/betweenness_owner.hpp>
#include <lull/graph/betweenness/sampled_sources.hpp>
#include <lull/graph/betweenness/verify_betweenness.hpp>
#include <lull/graph/graph_input.hpp>
#include <lull/graph/search_sources.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/task/output_files.hpp>
#include <optional>
#include <string>
#include <utility>

namespace lull {
namespace {

using std::filesystem::path;

constexpr option own_options[] = {
    {"source", option_kind::integer, "", "[0, 4294967294]", "the only vertex whose paths count"},
    {"sources", option_kind::path, "", "", "file with the vertices whose paths count, one id a line"},
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

class betweenness_owner final : public task_owner {
 public:
  explicit betweenness_owner(option_values const& values)
      : values_(values),
        input_("betweenness", values_, graph_input::weights::dropped),
        sources_("betweenness", values_) {
    if (draws()) return;
    if (values_.given("samples") || values_.given("sample_seed")) {
      throw usage_error("betweenness: samples and sample_seed are for drawn sources: leave out source and sources");
    }
  }

  /// A graph in a file is read, so that its size is known; a list of sources, too.
  memory_need needs(executor_kind kind) override try {
    graph_input::extent const size = input_.size();
    sources_.find(size.vertices);
    std::uint64_t const count = draws() ? std::min(samples(), size.vertices) : sources_.count();
    std::uint64_t const executor = betweenness_arrays<betweenness>::bytes(size.vertices, size.edges, count);
    memory_need made =
        input_.need_with_transpose(executor, kind == executor_kind::threads ? executor - size.bytes() : 0);
    made.preparing_bytes = std::max(made.preparing_bytes, verify_betweenness_bytes(size.vertices));
    return made;
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  void check_outputs() const override { check_output_files("betweenness", values_, {"out"}); }

  void prepare(executor& executor) override try {
    check_outputs();
    csr out = input_.take();
    sources_.find(out.vertices());
    if (draws()) {
      sources_.take(sample_sources(out, samples(), static_cast<std::uint64_t>(values_.integer("sample_seed"))));
    }
    arrays_.emplace(executor, out, sources_.all());
    out_ = std::move(out);
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  bool may_give_way() const override { return true; }

  job_description describe() const override {
    job_description made = lull::describe(arrays_.value().task(), "betweenness");
    made.grain = static_cast<std::uint32_t>(values_.integer("grain"));
    return made;
  }

  void reset() override { arrays_.value().reset(); }
  std::vector<task_array> arrays() const override { return arrays_.value().written(); }

  std::vector<path> inputs() const override { return sources_.files_after(input_.files()); }
  std::vector<path> outputs() const override { return output_files(values_, {"out"}); }

  verification verify() override {
    betweenness_progress const end = arrays_.value().progress();
    if (end.phase != betweenness_phase::end) {
      return {false, "the run has not ended: " + std::to_string(end.source) + " of " +
                         std::to_string(sources_.count()) + " sources are done"};
    }
    betweenness_verdict const verdict = verify_betweenness(out_, sources_.all(), arrays_->totals());
    return {verdict.ok, verdict.message};
  }

  std::vector<std::string> write() override {
    std::vector<double> const totals = arrays_.value().totals();
    std::size_t const highest = place_of_highest(totals);
    std::vector<std::string> lines{sources_.text() + ": " + std::to_string(arrays_->progress().reached) +
                                   " vertices reached; the highest is " + text_of(totals[highest]) + ", of vertex " +
                                   std::to_string(highest)};
    if (values_.has("out")) {
      atomic_file file{values_.path("out")};
      for (std::size_t vertex = 0; vertex < totals.size(); ++vertex) {
        file.write(std::to_string(vertex) + '\t' + text_of(totals[vertex]) + '\n');
      }
      file.commit();
      lines.push_back("centralities: " + values_.path("out").string());
    }
    return lines;
  }

  std::vector<task_figure> figures() const override {
    betweenness_progress const end = arrays_.value().progress();
    std::vector<double> const totals = arrays_->totals();
    return {{"sources", static_cast<double>(sources_.count())},
            {"reached", static_cast<double>(end.reached)},
            {"levels", static_cast<double>(end.levels)},
            {"highest", totals[place_of_highest(totals)]}};
  }

 private:
  bool draws() const { return !values_.given("source") && !values_.given("sources"); }
  std::uint64_t samples() const { return static_cast<std::uint64_t>(values_.integer("samples")); }
  static std::size_t place_of_highest(std::vector<double> const& totals) {
    return static_cast<std::size_t>(std::max_element(totals.begin(), totals.end()) - totals.begin());
  }

  option_values values_;
  graph_input input_;
  search_sources sources_;
  csr out_;
  std::optional<betweenness_arrays<betweenness>> arrays_;
};

}  // namespace

task_entry betweenness_entry() {
  return {.name = "betweenness",
          .help = "how much of the shortest paths of a graph lies on each vertex, from sampled sources",
          .example = "betweenness:kronecker=20,samples=16,out=centrality.tsv",
          .options = betweenness_options,
          .type = [](option_values const&) { return type_of<betweenness>(); },
          .make = [](option_values const& values) -> std::unique_ptr<task_owner> {
            return std::make_unique<betweenness_owner>(values);
          }};
}

}  // namespace lull
