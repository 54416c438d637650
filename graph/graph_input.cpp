// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/graph_input.hpp>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/shipped_file.hpp>
#include <utility>

namespace lull {

graph_input::graph_input(std::string_view task, option_values const& values, weights wanted,
                         symmetric_entries symmetric)
    : task_(task), values_(&values), wanted_(wanted), symmetric_(symmetric) {
  int const chosen = values.given("graph") + values.given("kronecker") + values.given("uniform") + values.given("grid");
  auto const refuse = [&](char const* why) { throw usage_error(task_ + why); };
  if (chosen > 1) refuse(": graph, kronecker, uniform and grid exclude each other: give one of them");
  if (values.given("seed") && !is_random())
    refuse(": seed is for a graph that is drawn at random: give kronecker or uniform with it");
  if (!generated_by().empty() && values.choice("undirected") == "yes")
    refuse(": undirected is for an edge list in a file: a generated graph has each edge both ways");
  if (wanted == weights::needed && values.has("weights") && values.choice("weights") == "unit" &&
      (values.given("max_weight") || values.given("weight_seed")))
    refuse(": weights=unit draws none: leave out max_weight and weight_seed");
}

std::string_view graph_input::generated_by() const {
  for (std::string_view const name : {"kronecker", "uniform", "grid"}) {
    if (values_->given(name)) return name;
  }
  return "";
}

std::filesystem::path graph_input::shipped(char const* name) {
  return shipped_file(name, "graph=FILE, kronecker=SCALE, uniform=SCALE or grid=SIDE");
}

std::vector<std::filesystem::path> graph_input::files() const {
  if (!generated_by().empty()) return {};
  return {is_shipped() ? shipped("debian12-packages.el.gz") : values_->path("graph")};
}

csr graph_input::load() {
  constexpr file_weights in_file[] = {file_weights::skipped, file_weights::kept,
                                      file_weights::lengths};  // as enum weights
  loaded_graph made =
      read_graph(files().front().string(),
                 {.symmetric = symmetric_,
                  .lists = values_->choice("undirected") == "yes" ? list_edges::both_ways : list_edges::one_way,
                  .weights = in_file[static_cast<int>(wanted_)]});
  has_weights_ = made.weighted;
  first_id_ = values_->choice("ids") == "file" ? made.first_id : 0;
  notes_ = std::move(made.notes);
  rounded_weights_ = made.rounded_weights;
  return std::move(made.graph);
}

graph_extent graph_input::size() {
  if (is_random()) {
    std::uint64_t const vertices = std::uint64_t{1} << values_->integer(generated_by());
    return {vertices, 2 * generate_options{}.edge_factor * vertices};
  }
  if (values_->given("grid")) {
    auto const side = static_cast<std::uint64_t>(values_->integer("grid"));
    return {side * side, 4 * side * (side - 1)};
  }
  if (read_.vertices() == 0) read_ = load();
  return read_.extent();
}

limit_error graph_input::too_large() const {
  return limit_error{task_ + ": this computer's memory does not hold the graph: take a smaller one"};
}

memory_need graph_input::need(std::uint64_t machine_bytes, std::uint64_t preparing_bytes, std::uint64_t kept_bytes) {
  std::uint64_t const all = size().bytes();
  return {.machine_bytes = machine_bytes,
          .host_bytes = kept_bytes + all - std::min(all, held_bytes()),
          .preparing_bytes = preparing_bytes,
          .smaller = generated_by()};
}

memory_need graph_input::need_with_transpose(std::uint64_t machine_bytes, std::uint64_t made_later) {
  graph_extent const all = size();
  std::uint64_t const transposing = all.bytes() + 6 * all.edges;  // and what it is made from; see make_csr
  return need(machine_bytes, std::max(all.bytes(), transposing - std::min(transposing, made_later)));
}

csr graph_input::generate() const {
  if (values_->given("grid")) return generate_grid(static_cast<std::uint32_t>(values_->integer("grid")));
  std::string_view const scale = generated_by();
  generate_options const wanted{.scale = static_cast<unsigned>(values_->integer(scale)),
                                .seed = static_cast<std::uint64_t>(values_->integer("seed"))};
  return scale == "kronecker" ? generate_kronecker(wanted) : generate_uniform(wanted);
}

csr graph_input::take() {
  csr made = !generated_by().empty() ? generate() : read_.vertices() != 0 ? std::exchange(read_, {}) : load();
  if (wanted_ != weights::needed) return made;
  if (makes_weights()) {
    make_weights(made);
  } else if (values_->given("weights") || values_->given("max_weight") || values_->given("weight_seed")) {
    throw usage_error(task_ + ": " + files().front().string() +
                      " has weights: leave out weights, max_weight and weight_seed, which are for a graph without");
  }
  return made;
}

bool graph_input::draws() const {
  if (values_->given("weights")) return values_->choice("weights") == "drawn";
  return !generated_by().empty() || values_->given("max_weight") || values_->given("weight_seed");
}

std::vector<std::string> graph_input::notes() const {
  std::vector<std::string> all = notes_;
  if (!makes_weights()) return all;
  std::string const of = generated_by().empty() ? files().front().string() + " has no weights" : "no weights";
  all.push_back(draws() ? of + ": drawn, whole numbers from 1 to " + values_->spelling("max_weight") +
                              " (weight_seed=" + values_->spelling("weight_seed") + ")"
                        : of + ": each edge weighs 1 (weights=drawn draws them)");
  return all;
}

void graph_input::make_weights(csr& graph) const {
  if (!draws()) return graph.weights.assign(graph.edges(), 1.0F);
  draw_weights(graph, static_cast<std::uint64_t>(values_->integer("weight_seed")),
               static_cast<std::uint32_t>(values_->integer("max_weight")));
}

}  // namespace lull
