// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <lull/graph/bfs/bfs_arrays.hpp>
#include <lull/graph/bfs/bfs_owner.hpp>
#include <lull/graph/bfs/bfs_together_arrays.hpp>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/graph/graph_input.hpp>
#include <lull/graph/search_sources.hpp>
#include <lull/graph/search_total.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/task/output_files.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace lull {
namespace {

using std::filesystem::path;

constexpr option own_options[] = {
    {"at_once", option_kind::integer, "1", "[1, 64]",
     "how many of the sources are searched from at the same time: each edge is then visited for all of them together"},
    {"out", option_kind::path, "", "",
     "file for the results: vertex, depth, parent a line, with tabs, -1 where not reached; after the source with "
     "sources"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "items of 512 edges or 1024 vertices in a chunk"},
};

constexpr auto bfs_options = with_graph_options(search_options, own_options);

/// The arrays of searches one after the other, or of several at once.
using bfs_searches = std::variant<bfs_arrays<bfs>, bfs_together_arrays<bfs_together>>;

bool at_once(option_values const& values) { return values.integer("at_once") > 1; }

class bfs_owner final : public task_owner {
 public:
  explicit bfs_owner(option_values const& values)
      : values_(values), input_("bfs", values_, graph_input::weights::dropped), sources_("bfs", values_) {
    if (at_once(values_) && !sources_.is_list()) {
      throw usage_error("bfs: at_once is for several searches: give their sources");
    }
  }

  /// A graph in a file is read, so that its size is known; a list of sources, too.
  memory_need needs(executor_kind kind) override try {
    graph_input::extent const size = input_.size();
    sources_.find(size.vertices);
    std::uint64_t const searches = sources_.count();
    std::uint64_t const executor = at_once(values_)
                                       ? bfs_together_arrays<bfs_together>::bytes(size.vertices, size.edges, searches)
                                       : bfs_arrays<bfs>::bytes(size.vertices, size.edges, searches);
    memory_need made =
        input_.need_with_transpose(executor, kind == executor_kind::threads ? executor - size.bytes() : 0);
    std::uint64_t const read = at_once(values_) ? bfs_together_arrays<bfs_together>::read_at_once : 1;  // searches
    std::uint64_t const judging = size.vertices * (read * sizeof(bfs_found) + sizeof(std::uint32_t));
    made.preparing_bytes = std::max(made.preparing_bytes, judging);
    return made;
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  void check_outputs() const override { check_output_files("bfs", values_, {"out"}); }

  void prepare(executor& executor) override try {
    check_outputs();
    csr out = input_.take();
    sources_.find_in(out);
    if (at_once(values_)) {
      auto const width = static_cast<std::uint32_t>(values_.integer("at_once"));
      arrays_.emplace(bfs_together_arrays<bfs_together>{executor, out, sources_.all(), width});
    } else {
      arrays_.emplace(bfs_arrays<bfs>{executor, out, sources_.all()});
    }
    out_ = std::move(out);
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  bool may_give_way() const override { return true; }

  job_description describe() const override {
    job_description made =
        std::visit([](auto const& arrays) { return lull::describe(arrays.task(), "bfs"); }, arrays_.value());
    made.grain = static_cast<std::uint32_t>(values_.integer("grain"));
    return made;
  }

  void reset() override {
    total_.reset();
    std::visit([](auto& arrays) { arrays.reset(); }, arrays_.value());
  }
  std::vector<task_array> arrays() const override {
    return std::visit([](auto const& arrays) { return arrays.written(); }, arrays_.value());
  }

  std::vector<path> inputs() const override { return sources_.files_after(input_.files()); }
  std::vector<path> outputs() const override { return output_files(values_, {"out"}); }

  verification verify() override {
    bfs_summary const end = summary();
    if (!end.over) {
      return {false, "the run has not ended: " + std::to_string(end.searches) + " of " +
                         std::to_string(sources_.count()) + " searches are done"};
    }
    bfs_verdict last;
    each_found([&](std::uint64_t search, std::vector<bfs_found> const& found) {
      last = verify_bfs(out_, sources_.all()[search], found);
      if (!last.ok) last.message = "from vertex " + std::to_string(sources_.all()[search]) + ": " + last.message;
      return last.ok;
    });
    bool const tells_all = !last.ok || sources_.count() == 1;
    return {last.ok, tells_all ? last.message
                               : std::to_string(sources_.count()) + " searches, of which the last: " + last.message};
  }

  std::vector<std::string> write() override {
    std::string const all = sum_up(total(), summary());
    if (!values_.has("out")) return {all};
    atomic_file file{values_.path("out")};
    each_found([&](std::uint64_t search, std::vector<bfs_found> const& found) {
      write_found(file, sources_.all()[search], found);
      return true;
    });
    file.commit();
    return {all, "depths and parents: " + values_.path("out").string()};
  }

  std::vector<task_figure> figures() const override {
    search_total const all = total();
    bfs_summary const end = summary();
    return {{"reached", static_cast<double>(all.reached)},
            {"depth", static_cast<double>(all.farthest)},
            {"edges_traversed", static_cast<double>(all.edges)},
            {"levels_pushed", static_cast<double>(end.pushed)},
            {"levels_pulled", static_cast<double>(end.pulled)}};
  }

 private:
  bfs_summary summary() const {
    return std::visit([](auto const& arrays) { return arrays.summary(); }, arrays_.value());
  }
  void each_found(auto const& visit) const {
    std::visit([&](auto const& arrays) { arrays.each_found(visit); }, arrays_.value());
  }

  /// Results of many searches are gigabytes: where the run is over, they are added up once.
  search_total total() const {
    if (total_) return *total_;
    search_total const all = std::visit([&](auto const& arrays) { return arrays.total(out_); }, arrays_.value());
    if (summary().over) total_ = all;
    return all;
  }

  std::string sum_up(search_total const& total, bfs_summary const& end) const {
    return sources_.text() + ": " + std::to_string(total.reached) + " vertices reached, depth " +
           std::to_string(total.farthest) + ", " + std::to_string(total.edges) +
           " edges traversed; levels: " + std::to_string(end.pushed) + " pushed, " + std::to_string(end.pulled) +
           " pulled";
  }

  void write_found(atomic_file& file, std::uint32_t source, std::vector<bfs_found> const& found) const {
    char line[64];
    for (std::size_t vertex = 0; vertex < found.size(); ++vertex) {
      int length = 0;
      if (sources_.is_list()) length = std::snprintf(line, sizeof line, "%u\t", source);
      auto const [depth, parent] = found[vertex];
      auto const rest = sizeof line - static_cast<std::size_t>(length);
      length += depth == bfs_found::none ? std::snprintf(line + length, rest, "%zu\t-1\t-1\n", vertex)
                                         : std::snprintf(line + length, rest, "%zu\t%u\t%u\n", vertex, depth, parent);
      file.write({line, static_cast<std::size_t>(length)});
    }
  }

  option_values values_;
  graph_input input_;
  search_sources sources_;
  csr out_;
  std::optional<bfs_searches> arrays_;
  mutable std::optional<search_total> total_;  // of a run that is over
};

}  // namespace

task_entry bfs_entry() {
  return {
      .name = "bfs",
      .help = "search a graph breadth first: how far each vertex is, and by which it is reached",
      .example = "bfs:kronecker=20,out=depths.tsv",
      .options = bfs_options,
      .type = [](option_values const& values) { return at_once(values) ? type_of<bfs_together>() : type_of<bfs>(); },
      .make = [](option_values const& values) -> std::unique_ptr<task_owner> {
        return std::make_unique<bfs_owner>(values);
      }};
}

}  // namespace lull
