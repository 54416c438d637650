// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <lull/graph/graph_input.hpp>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/search_sources.hpp>
#include <lull/graph/search_total.hpp>
#include <lull/graph/sssp/sssp_arrays.hpp>
#include <lull/graph/sssp/sssp_owner.hpp>
#include <lull/graph/sssp/verify_sssp.hpp>
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
    {"delta", option_kind::real, "", "(0, 4294967295]",
     "width of a bucket, in weights; default: 32 x mean weight / mean degree of vertices with edges"},
    {"out", option_kind::path, "", "",
     "file for the results: vertex, distance, parent a line, with tabs, inf and -1 where not reached; after the source "
     "with sources"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "items of 1024 edges or far vertices in a chunk"},
};

constexpr auto sssp_options = with_graph_options(weight_options, search_options, own_options);

class sssp_owner final : public task_owner {
 public:
  explicit sssp_owner(option_values const& values)
      : values_(values), input_("sssp", values_, graph_input::weights::needed), sources_("sssp", values_) {}

  /// A graph in a file is read, so that its size is known; a list of sources, too.
  memory_need needs(executor_kind /*kind*/) override try {
    graph_input::extent const size = input_.size();
    sources_.find(size.vertices);
    std::uint64_t const weights = size.edges * sizeof(float);
    std::uint64_t const kept = input_.draws_weights() ? 0 : weights;  // drawn ones are drawn again to verify
    std::uint64_t const graph = size.bytes() + kept;
    bool const generated = !input_.generated_by().empty();
    std::uint64_t const making = generated ? size.bytes() / 2 : 0;  // beside what stays; see generate.hpp
    std::uint64_t const judging = size.vertices * (sizeof(sssp_found) + 12) + weights - kept;
    return {.machine_bytes = sssp_arrays<sssp>::bytes(size.vertices, size.edges, sources_.count()),
            .host_bytes = graph - std::min(graph, input_.held_bytes()),
            .preparing_bytes = std::max({making, weights, judging}),
            .smaller = input_.generated_by()};
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  void check_outputs() const override { check_output_files("sssp", values_, {"out"}); }

  void prepare(executor& executor) override try {
    check_outputs();
    csr out = input_.take();
    kind_ = kind_of(out);
    sources_.find_in(out);
    double const delta = values_.has("delta") ? values_.real("delta") : near_far_delta(out);
    host_array<float> weights = input_.draws_weights() ? std::move(out.weights) : out.weights;
    arrays_.emplace(executor, out, std::move(weights), kind_, sources_.all(), delta);
    out_ = std::move(out);
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  bool may_give_way() const override { return true; }

  job_description describe() const override {
    job_description made = lull::describe(arrays_.value().task(), "sssp");
    made.grain = static_cast<std::uint32_t>(values_.integer("grain"));
    return made;
  }

  void reset() override {
    total_.reset();
    arrays_.value().reset();
  }
  std::vector<task_array> arrays() const override { return arrays_.value().written(); }

  std::vector<path> inputs() const override { return sources_.files_after(input_.files()); }
  std::vector<path> outputs() const override { return output_files(values_, {"out"}); }

  verification verify() override try {
    sssp_progress const end = arrays_.value().progress();
    auto const sources = sources_.all();
    if (end.too_far != 0) return {false, too_far()};
    if (end.phase != sssp_phase::end) {
      return {false, "the run has not ended: " + std::to_string(end.search) + " of " + std::to_string(sources.size()) +
                         " searches are done"};
    }
    if (!input_.draws_weights()) return verify_found(sources);
    input_.draw(out_);
    verification made = verify_found(sources);
    out_.weights = host_array<float>{};  // `{}` would only clear it
    return made;
  } catch (std::bad_alloc const&) {
    throw input_.too_large();
  }

  std::vector<std::string> write() override {
    if (arrays_.value().progress().too_far != 0) throw limit_error("sssp: " + too_far());
    std::string const all = sum_up(total());
    if (!values_.has("out")) return {all};
    atomic_file file{values_.path("out")};
    auto const sources = sources_.all();
    for (std::size_t search = 0; search < sources.size(); ++search) {
      write_found(file, sources[search], arrays_->found(search));
    }
    file.commit();
    return {all, "distances and parents: " + values_.path("out").string()};
  }

  std::vector<task_figure> figures() const override {
    search_total const all = total();
    return {{"reached", static_cast<double>(all.reached)},
            {"distance", std::stod(text_of_distance(all.farthest, kind_))},
            {"edges_traversed", static_cast<double>(all.edges)}};
  }

 private:
  static std::string too_far() {
    return "a vertex is " + std::to_string(sssp_distance::unreached) +
           " or farther from its source, which a distance of 32 bits does not hold: divide the weights, or give one of "
           "them a fraction, so that distances are floats";
  }

  verification verify_found(std::span<std::uint32_t const> sources) const {
    std::string last;
    for (std::size_t search = 0; search < sources.size(); ++search) {
      sssp_verdict const verdict = verify_sssp(out_, kind_, sources[search], arrays_->found(search));
      if (!verdict.ok) return {false, "from vertex " + std::to_string(sources[search]) + ": " + verdict.message};
      last = verdict.message;
    }
    return {true,
            sources.size() == 1 ? last : std::to_string(sources.size()) + " searches, of which the last: " + last};
  }

  weight_kind kind_of(csr const& out) const try {
    return kind_of_weights(out);
  } catch (usage_error const& fault) {  // of a file: drawn weights have none
    throw input_error(input_.files().front().string(), 0, fault.what());
  }

  std::string sum_up(search_total const& all) const {
    return sources_.text() + ": " + std::to_string(all.reached) + " vertices reached, distance " +
           text_of_distance(all.farthest, kind_) + ", " + std::to_string(all.edges) + " edges traversed";
  }

  /// Results of many searches are gigabytes: where the run is over, they are added up once.
  search_total total() const {
    if (total_) return *total_;
    search_total const all = arrays_.value().total(out_);
    if (arrays_->progress().phase == sssp_phase::end) total_ = all;
    return all;
  }

  void write_found(atomic_file& file, std::uint32_t source, std::vector<sssp_found> const& found) const {
    std::string const first = sources_.is_list() ? std::to_string(source) + '\t' : "";
    std::string line;
    for (std::size_t vertex = 0; vertex < found.size(); ++vertex) {
      auto const& [distance, parent] = found[vertex];
      line = first;
      line.append(std::to_string(vertex)).append(1, '\t').append(text_of_distance(distance, kind_)).append(1, '\t');
      line.append(parent == sssp_found::none ? "-1" : std::to_string(parent)).append(1, '\n');
      file.write(line);
    }
  }

  option_values values_;
  graph_input input_;
  search_sources sources_;
  csr out_;
  weight_kind kind_ = weight_kind::whole;
  std::optional<sssp_arrays<sssp>> arrays_;
  mutable std::optional<search_total> total_;  // of a run that is over
};

}  // namespace

task_entry sssp_entry() {
  return {.name = "sssp",
          .help = "find the shortest paths of a weighted graph: how far each vertex is, and by which it is reached",
          .example = "sssp:kronecker=20,out=distances.tsv",
          .options = sssp_options,
          .type = [](option_values const&) { return type_of<sssp>(); },
          .make = [](option_values const& values) -> std::unique_ptr<task_owner> {
            return std::make_unique<sssp_owner>(values);
          }};
}

}  // namespace lull
