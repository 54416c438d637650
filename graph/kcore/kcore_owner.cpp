// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/graph_owner.hpp>
#include <lull/graph/kcore/kcore_arrays.hpp>
#include <lull/graph/kcore/kcore_owner.hpp>
#include <lull/graph/kcore/verify_kcore.hpp>
#include <lull/graph/result_lines.hpp>

namespace lull {
namespace {

constexpr option own_options[] = {
    {"out", option_kind::path, "", "", "file for the core numbers: vertex, tab, its core number a line"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "items of 256 edges or 1024 vertices in a chunk"},
};

constexpr auto kcore_options = with_graph_options(own_options);

std::string counted(std::uint64_t count, char const* one, char const* more) {
  return std::to_string(count) + ' ' + (count == 1 ? one : more);
}

class kcore_owner final : public graph_owner<kcore_arrays<kcore>> {
 public:
  explicit kcore_owner(option_values const& values)
      : graph_owner("kcore", values, graph_input::weights::dropped, symmetric_entries::once) {}

  verification judge() override {
    kcore_progress const end = arrays_.value().progress();
    if (end.phase != kcore_phase::end) {
      return {false, "the run has not ended: it is at core number " + std::to_string(end.level)};
    }
    return verify_kcore(graph_, arrays_->cores());
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
    write_values(
        values_, cores, input_.first_id(), [](std::uint32_t core) { return std::to_string(core); }, "core numbers",
        lines);
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
  /// A graph in a file is read, so that its size is known.
  memory_need need(executor_kind kind) override {
    graph_extent const size = input_.size();
    // A generated graph has each edge in both directions; one in a file may have each edge once.
    std::uint64_t const undirected = input_.generated_by().empty() ? size.edges : size.edges / 2;
    std::uint64_t const orienting = 10 * size.edges + 24 * size.vertices;  // see orient
    std::uint64_t const turning = 20 * undirected + 16 * size.vertices;    // see symmetrised
    std::uint64_t const judging = 12 * size.edges + 32 * size.vertices;    // see verify_kcore
    std::uint64_t const machine_bytes = kcore_arrays<kcore>::bytes({size.vertices, 2 * undirected});
    std::uint64_t const made_later =
        kind == executor_kind::threads ? machine_bytes : 0;  // in host memory, after the set-up
    std::uint64_t const making = std::max({size.bytes(), orienting, turning});
    return input_.need(machine_bytes, std::max(making - std::min(making, made_later), judging),
                       size.vertices * sizeof(std::uint32_t));
  }

  kcore_arrays<kcore> fill(executor& executor, csr& graph) override { return {executor, graph}; }

  /// How many vertices have the largest core number.
  static std::uint64_t innermost(std::vector<std::uint32_t> const& cores) {
    return static_cast<std::uint64_t>(
        std::count(cores.begin(), cores.end(), *std::max_element(cores.begin(), cores.end())));
  }
};

}  // namespace

task_entry kcore_entry() {
  return {.name = "kcore",
          .help = "find the core number of each vertex of a graph, its edges without a direction",
          .example = "kcore:kronecker=20,out=cores.tsv",
          .options = kcore_options,
          .type = [](option_values const&) { return type_of<kcore>(); },
          .make = make_owner<kcore_owner>};
}

}  // namespace lull
