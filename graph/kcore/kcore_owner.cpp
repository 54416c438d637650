// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <lull/graph/graph_input.hpp>
#include <lull/graph/kcore/kcore_arrays.hpp>
#include <lull/graph/kcore/kcore_owner.hpp>
#include <lull/graph/kcore/verify_kcore.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/task/output_files.hpp>
#include <optional>
#include <utility>

namespace lull {
namespace {

using std::filesystem::path;

constexpr option own_options[] = {
    {"out", option_kind::path, "", "", "file for the core numbers: vertex, tab, its core number a line"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "items of 256 edges or 1024 vertices in a chunk"},
};

constexpr auto kcore_options = with_graph_options(own_options);

std::string counted(std::uint64_t count, char const* one, char const* more) {
  return std::to_string(count) + ' ' + (count == 1 ? one : more);
}

class kcore_owner final : public task_owner {
 public:
  explicit kcore_owner(option_values const& values)
      : values_(values), input_("kcore", values_, graph_input::weights::dropped, symmetric_entries::once) {}

  /// A graph in a file is read, so that its size is known.
  memory_need needs(executor_kind kind) override try {
    graph_input::extent const size = input_.size();
    // A generated graph has each edge in both directions; one in a file may have each edge once.
    std::uint64_t const undirected = input_.generated_by().empty() ? size.edges : size.edges / 2;
    std::uint64_t const orienting = 10 * size.edges + 24 * size.vertices;  // see orient
    std::uint64_t const turning = 20 * undirected + 16 * size.vertices;    // see symmetrised
    std::uint64_t const judging = 12 * size.edges + 32 * size.vertices;    // see verify_kcore
    std::uint64_t const executor = kcore_arrays<kcore>::bytes(size.vertices, 2 * undirected);
    std::uint64_t const made_later =
        kind == executor_kind::threads ? executor : 0;  // in host memory, behind the set-up
    std::uint64_t const making = std::max({size.bytes(), orienting, turning});
    return {.machine_bytes = executor,
            .host_bytes =
                size.bytes() - std::min(size.bytes(), input_.held_bytes()) + size.vertices * sizeof(std::uint32_t),
            .preparing_bytes = std::max(making - std::min(making, made_later), judging),
            .smaller = input_.generated_by()};
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  void check_outputs() const override { check_output_files("kcore", values_, {"out"}); }

  void prepare(executor& executor) override try {
    check_outputs();
    csr graph = input_.take();
    arrays_.emplace(executor, graph);
    graph_ = std::move(graph);
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  bool may_give_way() const override { return true; }

  job_description describe() const override {
    job_description made = lull::describe(arrays_.value().task(), "kcore");
    made.grain = static_cast<std::uint32_t>(values_.integer("grain"));
    return made;
  }

  void reset() override { arrays_.value().reset(); }
  std::vector<task_array> arrays() const override { return arrays_.value().written(); }

  std::vector<path> inputs() const override { return input_.files(); }
  std::vector<path> outputs() const override { return output_files(values_, {"out"}); }

  verification verify() override {
    kcore_progress const end = arrays_.value().progress();
    if (end.phase != kcore_phase::end) {
      return {false, "the run has not ended: it is at core number " + std::to_string(end.level)};
    }
    auto const verdict = verify_kcore(graph_, arrays_->cores());
    return {verdict.ok, verdict.message};
  }

  std::vector<std::string> write() override {
    std::vector<std::uint32_t> const cores = arrays_.value().cores();
    kcore_progress const end = arrays_->progress();
    std::vector<std::string> lines{"largest core number (degeneracy): " + std::to_string(end.level) + ", of " +
                                       counted(innermost(cores), "vertex", "vertices") + " among " +
                                       std::to_string(cores.size()) + " and " +
                                       counted(arrays_->undirected_edges(), "undirected edge", "undirected edges"),
                                   counted(end.levels, "core number", "core numbers") + " above 0, found in " +
                                       counted(end.waves, "wave", "waves")};
    if (values_.has("out")) {
      write_cores(cores);
      lines.push_back("core numbers: " + values_.path("out").string());
    }
    return lines;
  }

  std::vector<task_figure> figures() const override {
    kcore_progress const end = arrays_.value().progress();
    return {{"degeneracy", static_cast<double>(end.level)},
            {"innermost_vertices", static_cast<double>(innermost(arrays_->cores()))},
            {"core_numbers", static_cast<double>(end.levels)},
            {"waves", static_cast<double>(end.waves)}};
  }

 private:
  /// How many vertices have the largest core number.
  static std::uint64_t innermost(std::vector<std::uint32_t> const& cores) {
    return static_cast<std::uint64_t>(
        std::count(cores.begin(), cores.end(), *std::max_element(cores.begin(), cores.end())));
  }

  void write_cores(std::vector<std::uint32_t> const& cores) const {
    atomic_file file{values_.path("out")};
    char line[32];
    for (std::size_t vertex = 0; vertex < cores.size(); ++vertex) {
      int const length = std::snprintf(line, sizeof line, "%zu\t%u\n", vertex, cores[vertex]);
      file.write({line, static_cast<std::size_t>(length)});
    }
    file.commit();
  }

  option_values values_;
  graph_input input_;
  csr graph_;  // as it was loaded
  std::optional<kcore_arrays<kcore>> arrays_;
};

}  // namespace

task_entry kcore_entry() {
  return {.name = "kcore",
          .help = "find the core number of each vertex of a graph, its edges without a direction",
          .example = "kcore:kronecker=20,out=cores.tsv",
          .options = kcore_options,
          .type = [](option_values const&) { return type_of<kcore>(); },
          .make = [](option_values const& values) -> std::unique_ptr<task_owner> {
            return std::make_unique<kcore_owner>(values);
          }};
}

}  // namespace lull
