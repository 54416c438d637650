// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <lull/graph/graph_input.hpp>
#include <lull/graph/highest.hpp>
#include <lull/graph/load/load_lines.hpp>
#include <lull/graph/pagerank/pagerank_arrays.hpp>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/graph/pagerank/verify_pagerank.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/task/output_files.hpp>
#include <optional>
#include <utility>

namespace lull {
namespace {

using std::filesystem::path;

constexpr option own_options[] = {
    {"damping", option_kind::real, "0.85", "[0, 1)", "damping factor: share of rank that follows the edges"},
    {"tolerance", option_kind::real, "1e-6", "(0, inf)", "stop when a sweep changes the ranks by less than this (L1)"},
    {"sweeps", option_kind::integer, "100", "[1, 1000000000]", "greatest number of sweeps, converged or not"},
    {"out", option_kind::path, "", "", "file for the ranks: vertex, tab, rank a line"},
    {"names", option_kind::path, "", "", "file with the vertices' names, one a line, vertex 0 first; also .gz"},
    {"top", option_kind::integer, "10", "[0, 1000]", "how many vertices to list, highest rank first"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "tiles of 2048 edges in a chunk"},
};

constexpr auto pagerank_options = with_graph_options(own_options);

std::vector<std::string> read_names(path const& file, std::uint32_t vertices) {
  constexpr std::uint64_t max_bytes = 1ULL << 32;
  std::vector<std::string> names;
  try {
    auto const packing = file.extension() == ".gz" ? compression::gzip : compression::none;
    text_source text{file.string(), packing, max_bytes};
    text_block block;
    while (names.size() < vertices && text.next(block)) {
      std::string_view left = block.text();
      while (!left.empty() && names.size() < vertices) {
        auto const end = left.find('\n');
        std::string_view line = left.substr(0, end);
        if (line.size() > detail::max_line_bytes) {
          throw input_error(file.string(), names.size() + 1, "the line is longer than 64 KiB");
        }
        if (line.ends_with('\r')) line.remove_suffix(1);
        names.emplace_back(line);
        left.remove_prefix(end + 1);
      }
    }
  } catch (text_error const& reason) {
    throw input_error(file.string(), 0, reason.what());
  }
  if (names.size() < vertices) {
    throw input_error(file.string(), 0,
                      "holds " + std::to_string(names.size()) + " names, but the graph has " +
                          std::to_string(vertices) + " vertices");
  }
  return names;
}

class pagerank_owner final : public task_owner {
 public:
  explicit pagerank_owner(option_values const& values)
      : values_(values), input_("pagerank", values_, graph_input::weights::dropped) {
    settings_ = {.damping = values.real("damping"),
                 .tolerance = values.real("tolerance"),
                 .sweeps = static_cast<std::uint64_t>(values.integer("sweeps"))};
  }

  /// A graph in a file is read, so that its size is known.
  memory_need needs(executor_kind kind) override try {
    graph_input::extent const size = input_.size();
    std::uint64_t const executor = pagerank_arrays<pagerank>::bytes(size.vertices, size.edges);
    return input_.need_with_transpose(executor, kind == executor_kind::threads ? executor : 0);
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  void check_outputs() const override { check_output_files("pagerank", values_, {"out"}); }

  void prepare(executor& executor) override try {
    check_outputs();
    csr out = input_.take();
    std::vector<std::string> names = make_names(out.vertices());
    arrays_.emplace(executor, out, settings_);
    out_ = std::move(out);
    names_ = std::move(names);
    // On CPU threads a team may be of any width; two leave the longest pieces to one thread.
    max_chain_ = pagerank::max_chain(executor.kind() == executor_kind::cuda ? pagerank::max_threads : 2);
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  bool may_give_way() const override { return true; }

  job_description describe() const override {
    job_description made = lull::describe(arrays_.value().task(), "pagerank");
    made.grain = static_cast<std::uint32_t>(values_.integer("grain"));
    return made;
  }

  std::uint64_t max_rounds() const override { return 1 + settings_.sweeps; }  // the first sets the ranks
  void reset() override { arrays_.value().reset(); }

  std::vector<task_array> arrays() const override { return arrays_.value().written(); }

  std::vector<path> inputs() const override { return input_.files(); }
  std::vector<path> outputs() const override { return output_files(values_, {"out"}); }

  verification verify() override {
    pagerank_progress const end = arrays_.value().progress();
    auto const verdict = verify_pagerank(out_, arrays_->ranks(),
                                         {.damping = settings_.damping,
                                          .tolerance = settings_.tolerance,
                                          .converged = end.converged != 0,
                                          .sweeps = end.sweeps,
                                          .max_chain = max_chain_});
    return {verdict.ok, verdict.message};
  }

  std::vector<std::string> write() override {
    std::vector<float> const ranks = arrays_.value().ranks();
    std::vector<std::string> lines{sum_up(arrays_->progress())};
    if (values_.has("out")) {
      write_ranks(ranks);
      lines.push_back("ranks: " + values_.path("out").string());
    }
    list_top(ranks, lines);
    return lines;
  }

  std::vector<task_figure> figures() const override {
    pagerank_progress const end = arrays_.value().progress();
    return {{"sweeps", static_cast<double>(end.sweeps)}, {"residual", end.change}};
  }

 private:
  std::vector<std::string> make_names(std::uint32_t vertices) const {
    if (values_.has("names")) return read_names(values_.path("names"), vertices);
    if (!input_.is_shipped()) return {};
    return read_names(graph_input::shipped("debian12-packages.names.gz"), vertices);
  }

  static std::string sum_up(pagerank_progress const& end) {
    char text[160];
    std::snprintf(text, sizeof text, "%s: %llu sweep%s, the last of which changed the ranks by %.3g (L1)",
                  end.converged != 0 ? "converged" : "not converged", static_cast<unsigned long long>(end.sweeps),
                  end.sweeps == 1 ? "" : "s", end.change);
    return text;
  }

  void write_ranks(std::vector<float> const& ranks) const {
    atomic_file file{values_.path("out")};
    char line[64];
    for (std::size_t vertex = 0; vertex < ranks.size(); ++vertex) {
      int const length = std::snprintf(line, sizeof line, "%zu\t%.9g\n", vertex, static_cast<double>(ranks[vertex]));
      file.write({line, static_cast<std::size_t>(length)});
    }
    file.commit();
  }

  void list_top(std::vector<float> const& ranks, std::vector<std::string>& lines) const {
    std::vector<std::uint32_t> const first = places_of_highest(ranks, static_cast<std::size_t>(values_.integer("top")));
    if (first.empty()) return;
    lines.push_back("highest ranks of " + std::to_string(ranks.size()) + " vertices:");
    for (std::size_t place = 0; place < first.size(); ++place) {
      std::uint32_t const vertex = first[place];
      char text[64];
      std::snprintf(text, sizeof text, "%4zu  %.6f  ", place + 1, static_cast<double>(ranks[vertex]));
      lines.push_back(text + (names_.empty() ? "vertex " + std::to_string(vertex) : names_[vertex]));
    }
  }

  option_values values_;
  graph_input input_;
  pagerank_settings settings_;
  csr out_;
  std::vector<std::string> names_;  // (vertices,) or empty
  std::optional<pagerank_arrays<pagerank>> arrays_;
  std::uint64_t max_chain_ = 0;
};

}  // namespace

task_entry pagerank_entry() {
  return {.name = "pagerank",
          .help = "rank the vertices of a graph by the links that lead to them",
          .example = "pagerank:kronecker=20,out=ranks.tsv",
          .options = pagerank_options,
          .type = [](option_values const&) { return type_of<pagerank>(); },
          .make = [](option_values const& values) -> std::unique_ptr<task_owner> {
            return std::make_unique<pagerank_owner>(values);
          }};
}

}  // namespace lull
