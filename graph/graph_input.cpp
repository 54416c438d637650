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
  csr made = load_graph(files().front().string(), {.symmetric = symmetric_});
  has_weights_ = !made.weights.empty();
  if (wanted_ == weights::dropped) made.weights = host_array<float>{};  // `{}` would only clear it
  return made;
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
  if (draws_weights()) {
    draw(made);
  } else if (values_->given("max_weight") || values_->given("weight_seed")) {
    throw usage_error(task_ + ": " + files().front().string() +
                      " has weights: leave out max_weight and weight_seed, which are for drawn ones");
  }
  return made;
}

void graph_input::draw(csr& graph) const {
  draw_weights(graph, static_cast<std::uint64_t>(values_->integer("weight_seed")),
               static_cast<std::uint32_t>(values_->integer("max_weight")));
}

}  // namespace lull
