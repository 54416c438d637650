// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <lull/graph/graph_sgd/graph_sgd_arrays.hpp>
#include <lull/host/task/counter_random.hpp>

namespace lull {
namespace {

using any_sgd = graph_sgd<8>;  // whose constants are those of all

constexpr std::uint64_t parts(std::uint64_t count, std::uint64_t size) { return (count + size - 1) / size; }

/// A model of these sizes, without arrays.
graph_sgd_model sized(std::uint64_t held_out, std::uint32_t groups, graph_sgd_settings const& settings) {
  graph_sgd_model model{};
  model.held_out_count = held_out;
  model.groups = groups;
  model.epochs = settings.epochs;
  model.rate = settings.rate;
  model.decay = settings.decay;
  model.l2 = settings.l2;
  return model;
}

/// Each array of the inputs, once. Frees `ordered` when it is on the machine.
void add_inputs(array_table& table, graph_sgd_model& model, std::uint64_t ratings, std::uint64_t begins,
                host_array<placed_rating> ordered, std::span<std::uint64_t const> of_begins,
                std::span<rating const> held_out) {
  table.input(model.ordered, ratings, ordered);
  ordered = host_array<placed_rating>{};  // `{}` would only clear it
  table.input(model.begins, begins, of_begins);
  table.input(model.held_out, model.held_out_count, held_out);
}

/// Each other array, once. `reset` gives the factors their first values again.
void add_arrays(array_table& table, graph_sgd_model& model, std::uint64_t users, std::uint64_t items,
                std::uint64_t factors) {
  table.kept(model.user_factors, "user_factors", {users, factors});
  table.kept(model.item_factors, "item_factors", {items, factors});
  std::uint64_t const judged = parts(model.held_out_count, any_sgd::judged);
  table.cleared(model.square, "square", {model.groups});
  table.cleared(model.held_out_square, "held_out_square", {judged});
  table.cleared(model.folded, "folded", {parts(judged, any_sgd::fold)});
  table.cleared(model.epoch_square, "epoch_square", {2, model.epochs});
  table.cleared(model.stopped, "stopped", {1});
}

double root_mean(double square, std::size_t count) {
  return count == 0 ? 0 : std::sqrt(square / static_cast<double>(count));
}

}  // namespace

void first_factors(std::span<float> to, std::uint64_t first, graph_sgd_settings const& settings) {
  counter_random const random{settings.seed, 0};
  double const reach = 1 / std::sqrt(static_cast<double>(settings.factors));
  for (std::size_t at = 0; at < to.size(); ++at)
    to[at] = static_cast<float>((static_cast<double>(random.at(first + at) >> 11) * 0x1p-52 - 1) * reach);
}

graph_sgd_arrays::graph_sgd_arrays(device_memory& memory, host_array<placed_rating> ordered,
                                   rating_blocks const& blocks, std::span<rating const> held_out, std::uint32_t users,
                                   std::uint32_t items, double mean, graph_sgd_settings const& settings)
    : settings_(settings),
      rounds_(settings.epochs * (std::uint64_t{blocks.phases} + any_sgd::other_phases)),
      ratings_(ordered.size()),
      model_(sized(held_out.size(), blocks.groups, settings)),
      table_(memory) {
  model_.phases = blocks.phases;
  model_.mean = static_cast<float>(mean);
  add_inputs(table_, model_, ratings_, blocks.begins.size(), std::move(ordered), blocks.begins, held_out);
  add_arrays(table_, model_, users, items, settings.factors);
  write_first();
}

job_description graph_sgd_arrays::describe(std::string name) const {
  return with_graph_sgd(settings_.factors, [&]<class Task>() {
    job_description made = lull::describe(Task{model_}, std::move(name));
    made.grain = Task::blocks_at_once;
    return made;
  });
}

host_array<placed_rating> graph_sgd_arrays::ordered() const {
  host_array<placed_rating> values(ratings_);
  table_.memory().read(values.data(), model_.ordered, ratings_ * sizeof(placed_rating));
  return values;
}

void graph_sgd_arrays::write_first() {
  std::vector<float> some(std::size_t{1} << 16);  // all at once would be more than the ratings, as a rule
  std::uint64_t number = 0;
  for (float* const array : {model_.user_factors, model_.item_factors}) {
    std::uint64_t const count = table_.size(array);
    for (std::uint64_t begin = 0; begin < count; begin += some.size()) {
      auto const part = std::span{some}.first(std::min<std::uint64_t>(some.size(), count - begin));
      first_factors(part, number, settings_);
      table_.write(array, std::span<float const>{part}, begin);
      number += part.size();
    }
  }
}

void graph_sgd_arrays::reset() {
  write_first();
  table_.reset();
}

std::vector<epoch_errors> graph_sgd_arrays::errors() const {
  std::vector<double> const square = table_.read(model_.epoch_square);
  std::vector<epoch_errors> made;
  for (std::size_t epoch = 0; epoch < settings_.epochs; ++epoch) {
    made.push_back(
        {root_mean(square[epoch], ratings_), root_mean(square[settings_.epochs + epoch], model_.held_out_count)});
  }
  return made;
}

std::uint64_t graph_sgd_arrays::bytes(std::uint64_t ratings, std::uint64_t held_out, std::uint64_t groups,
                                      std::uint64_t blocks, std::uint64_t rows, graph_sgd_settings const& settings) {
  array_table counted;
  graph_sgd_model model = sized(held_out, static_cast<std::uint32_t>(groups), settings);
  add_inputs(counted, model, ratings, blocks + 1, {}, {}, {});
  add_arrays(counted, model, rows, 0, settings.factors);
  return counted.bytes();
}

}  // namespace lull
