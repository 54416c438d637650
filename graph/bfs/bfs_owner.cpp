// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/bfs/bfs_arrays.hpp>
#include <lull/graph/bfs/bfs_owner.hpp>
#include <lull/graph/bfs/bfs_together_arrays.hpp>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/graph/search_owner.hpp>
#include <lull/host/error.hpp>
#include <string>
#include <utility>
#include <variant>

namespace lull {
namespace {

constexpr option own_options[] = {
    {"at_once", option_kind::integer, "1", "[1, 64]",
     "how many of the sources are searched from at the same time: each edge is then visited for all of them together"},
    {"out", option_kind::path, "", "",
     "file for the results: vertex, depth, parent a line, with tabs, -1 where not reached; after the source with "
     "sources"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "items of 512 edges or 1024 vertices in a chunk"},
};

constexpr auto bfs_options = with_graph_options(search_options, own_options);

bool at_once(option_values const& values) { return values.integer("at_once") > 1; }

/// The arrays of searches one after the other, or of several at once.
class bfs_searches {
 public:
  bfs_searches(bfs_arrays<bfs> arrays) : arrays_(std::move(arrays)) {}
  bfs_searches(bfs_together_arrays<bfs_together> arrays) : arrays_(std::move(arrays)) {}

  job_description describe(std::string const& name) const {
    return std::visit([&](auto const& arrays) { return arrays.describe(name); }, arrays_);
  }
  std::vector<task_array> written() const {
    return std::visit([](auto const& arrays) { return arrays.written(); }, arrays_);
  }
  void reset() {
    std::visit([](auto& arrays) { arrays.reset(); }, arrays_);
  }
  bfs_summary summary() const {
    return std::visit([](auto const& arrays) { return arrays.summary(); }, arrays_);
  }
  search_total total(csr const& out) const {
    return std::visit([&](auto const& arrays) { return arrays.total(out); }, arrays_);
  }
  void each_found(auto const& visit) const {
    std::visit([&](auto const& arrays) { arrays.each_found(visit); }, arrays_);
  }

 private:
  std::variant<bfs_arrays<bfs>, bfs_together_arrays<bfs_together>> arrays_;
};

class bfs_owner final : public search_owner<bfs_searches> {
 public:
  explicit bfs_owner(option_values const& values) : search_owner("bfs", values) {
    if (at_once(values_) && !sources_.is_list())
      throw usage_error("bfs: at_once is for several searches: give their sources");
  }

  verification judge() override {
    return verify_each(
        [&](std::uint32_t source, std::vector<bfs_found> const& found) { return verify_bfs(graph_, source, found); });
  }

  std::vector<std::string> write() override {
    search_total const all = total();
    bfs_summary const end = arrays_->summary();
    std::vector<std::string> lines{sources_.text() + ": " + std::to_string(all.reached) + " vertices reached, depth " +
                                   std::to_string(all.farthest) + ", " + std::to_string(all.edges) +
                                   " edges traversed; levels: " + std::to_string(end.pushed) + " pushed, " +
                                   std::to_string(end.pulled) + " pulled"};
    write_each(
        "depths and parents", [this](bfs_found const& found) { return text_of(found); }, lines);
    return lines;
  }

  std::vector<task_figure> figures() const override {
    search_total const all = total();
    bfs_summary const end = arrays_->summary();
    return {{"reached", static_cast<double>(all.reached)},
            {"depth", static_cast<double>(all.farthest)},
            {"edges_traversed", static_cast<double>(all.edges)},
            {"levels_pushed", static_cast<double>(end.pushed)},
            {"levels_pulled", static_cast<double>(end.pulled)}};
  }

 private:
  /// A graph in a file is read, so that its size is known; a list of sources, too.
  memory_need need(executor_kind kind) override {
    graph_extent const size = input_.size();
    sources_.find(size.vertices, input_.first_id());
    std::uint64_t const searches = sources_.count();
    std::uint64_t const machine_bytes = at_once(values_) ? bfs_together_arrays<bfs_together>::bytes(size, searches)
                                                         : bfs_arrays<bfs>::bytes(size, searches);
    memory_need made =
        input_.need_with_transpose(machine_bytes, kind == executor_kind::threads ? machine_bytes - size.bytes() : 0);
    std::uint64_t const read = at_once(values_) ? bfs_together_arrays<bfs_together>::read_at_once : 1;  // searches
    std::uint64_t const judging = size.vertices * (read * sizeof(bfs_found) + sizeof(std::uint32_t));
    made.preparing_bytes = std::max(made.preparing_bytes, judging);
    return made;
  }

  bfs_searches fill(executor& executor, csr& graph) override {
    sources_.find_in(graph, input_.first_id());
    if (!at_once(values_)) return bfs_arrays<bfs>{executor, graph, sources_.all()};
    auto const width = static_cast<std::uint32_t>(values_.integer("at_once"));
    return bfs_together_arrays<bfs_together>{executor, graph, sources_.all(), width};
  }

  std::string text_of(bfs_found const& found) const {
    if (found.depth == bfs_found::none) return "-1\t-1";
    return std::to_string(found.depth) + '\t' + id_text(found.parent);
  }
};

}  // namespace

task_entry bfs_entry() {
  return {
      .name = "bfs",
      .help = "search a graph breadth first: how far each vertex is, and by which it is reached",
      .example = "bfs:kronecker=20,out=depths.tsv",
      .options = bfs_options,
      .type = [](option_values const& values) { return at_once(values) ? type_of<bfs_together>() : type_of<bfs>(); },
      .make = make_owner<bfs_owner>};
}

}  // namespace lull
