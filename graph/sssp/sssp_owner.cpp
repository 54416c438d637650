// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/search_owner.hpp>
#include <lull/graph/sssp/sssp_arrays.hpp>
#include <lull/graph/sssp/sssp_owner.hpp>
#include <lull/graph/sssp/verify_sssp.hpp>
#include <lull/host/error.hpp>
#include <string>
#include <utility>

namespace lull {
namespace {

constexpr option own_options[] = {
    {"delta", option_kind::real, "", "(0, 4294967295]",
     "width of a bucket, in weights; default: 32 x mean weight / mean degree of vertices with edges"},
    {"out", option_kind::path, "", "",
     "file for the results: vertex, distance, parent a line, with tabs, inf and -1 where not reached; after the source "
     "with sources"},
    {"grain", option_kind::integer, "1", "[1, 65536]", "items of 1024 edges or far vertices in a chunk"},
};

constexpr auto sssp_options = with_graph_options(weight_options, search_options, own_options);

class sssp_owner final : public search_owner<sssp_arrays<sssp>> {
 public:
  explicit sssp_owner(option_values const& values) : search_owner("sssp", values, graph_input::weights::needed) {}

  verification judge() override {
    sssp_summary const end = arrays_.value().summary();
    if (end.too_far) return {false, too_far()};
    return in_host_memory([&] {
      bool const made_weights = end.over && input_.makes_weights();
      if (made_weights) input_.make_weights(graph_);
      verification const made = verify_each([&](std::uint32_t source, std::vector<sssp_found> const& found) {
        return verify_sssp(graph_, kind_, source, found);
      });
      if (made_weights) graph_.weights = host_array<float>{};  // `{}` would only clear it
      return made;
    });
  }

  std::vector<std::string> write() override {
    if (arrays_.value().summary().too_far) throw limit_error("sssp: " + too_far());
    search_total const all = total();
    std::vector<std::string> lines{sources_.text() + ": " + std::to_string(all.reached) +
                                   " vertices reached, distance " + text_of_distance(all.farthest, kind_) + ", " +
                                   std::to_string(all.edges) + " edges traversed"};
    write_each(
        "distances and parents",
        [this](sssp_found const& found) {
          return text_of_distance(found.distance, kind_) + '\t' +
                 (found.parent == sssp_found::none ? "-1" : id_text(found.parent));
        },
        lines);
    return lines;
  }

  std::vector<task_figure> figures() const override {
    search_total const all = total();
    std::vector<task_figure> made{{"reached", static_cast<double>(all.reached)},
                                  {"distance", std::stod(text_of_distance(all.farthest, kind_))},
                                  {"edges_traversed", static_cast<double>(all.edges)}};
    if (input_.rounded_weights() != 0)
      made.push_back({"rounded_weights", static_cast<double>(input_.rounded_weights())});
    return made;
  }

 private:
  /// A graph in a file is read, so that its size is known; a list of sources, too.
  memory_need need(executor_kind /*kind*/) override {
    graph_extent const size = input_.size();
    sources_.find(size.vertices, input_.first_id());
    std::uint64_t const weights = size.edges * sizeof(float);
    std::uint64_t const kept = input_.makes_weights() ? 0 : weights;  // those are made again to verify
    std::uint64_t const graph = size.bytes() + kept;
    bool const generated = !input_.generated_by().empty();
    std::uint64_t const making = generated ? size.bytes() / 2 : 0;  // beside what stays; see generate.hpp
    std::uint64_t const judging = size.vertices * (sizeof(sssp_found) + 12) + weights - kept;
    return {.machine_bytes = sssp_arrays<sssp>::bytes(size, sources_.count()),
            .host_bytes = graph - std::min(graph, input_.held_bytes()),
            .preparing_bytes = std::max({making, weights, judging}),
            .smaller = input_.generated_by()};
  }

  sssp_arrays<sssp> fill(executor& executor, csr& graph) override {
    kind_ = kind_of_weights(graph);  // a file's were checked as it was read
    sources_.find_in(graph, input_.first_id());
    double const delta = values_.has("delta") ? values_.real("delta") : near_far_delta(graph);
    host_array<float> weights = input_.makes_weights() ? std::move(graph.weights) : graph.weights;
    return {executor, graph, std::move(weights), kind_, sources_.all(), delta};
  }

  static std::string too_far() {
    return "a vertex is " + std::to_string(sssp_distance::unreached) +
           " or farther from its source, which a distance of 32 bits does not hold: divide the weights, or give one of "
           "them a fraction, so that distances are floats";
  }

  weight_kind kind_ = weight_kind::whole;
};

}  // namespace

task_entry sssp_entry() {
  return {.name = "sssp",
          .help = "find the shortest paths of a weighted graph: how far each vertex is, and by which it is reached",
          .example = "sssp:kronecker=20,out=distances.tsv",
          .options = sssp_options,
          .type = [](option_values const&) { return type_of<sssp>(); },
          .make = make_owner<sssp_owner>};
}

}  // namespace lull
