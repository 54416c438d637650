// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <lull/graph/graph_sgd/graph_sgd_arrays.hpp>
#include <lull/host/task/counter_random.hpp>

namespace lull {
namespace {

using any_sgd = graph_sgd<8>;  // whose constants are those of all

constexpr std::uint64_t parts(std::uint64_t count, std::uint64_t size) { return (count + size - 1) / size; }

device_array<placed_rating> moved_to(executor& executor, host_array<placed_rating>& from) {
  device_array<placed_rating> made{executor, std::span<placed_rating const>{from}};
  from = host_array<placed_rating>{};  // `{}` would only clear it
  return made;
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

graph_sgd_arrays::graph_sgd_arrays(executor& executor, host_array<placed_rating> ordered, rating_blocks const& blocks,
                                   std::span<rating const> held_out, std::uint32_t users, std::uint32_t items,
                                   double mean, graph_sgd_settings const& settings)
    : executor_(executor),
      settings_(settings),
      rounds_(settings.epochs * (std::uint64_t{blocks.phases} + any_sgd::other_phases)),
      ordered_(moved_to(executor, ordered)),
      begins_(executor, std::span<std::uint64_t const>{blocks.begins}),
      held_out_(executor, held_out),
      user_factors_(executor, std::size_t{users} * settings.factors),
      item_factors_(executor, std::size_t{items} * settings.factors),
      square_(executor, blocks.groups),
      held_out_square_(executor, parts(held_out.size(), any_sgd::judged)),
      folded_(executor, parts(held_out_square_.size(), any_sgd::fold)),
      epoch_square_(executor, 2 * std::size_t{settings.epochs}),
      stopped_(executor, 1),
      model_{.ordered = ordered_.data(),
             .begins = begins_.data(),
             .held_out = held_out_.data(),
             .user_factors = user_factors_.data(),
             .item_factors = item_factors_.data(),
             .square = square_.data(),
             .held_out_square = held_out_square_.data(),
             .folded = folded_.data(),
             .epoch_square = epoch_square_.data(),
             .stopped = stopped_.data(),
             .held_out_count = held_out.size(),
             .groups = blocks.groups,
             .phases = blocks.phases,
             .epochs = settings.epochs,
             .mean = static_cast<float>(mean),
             .rate = settings.rate,
             .decay = settings.decay,
             .l2 = settings.l2} {
  write_first();
}

job_description graph_sgd_arrays::describe() const {
  return with_graph_sgd(settings_.factors, [&]<class Task>() {
    job_description made = lull::describe(Task{model_}, "graph_sgd");
    made.grain = Task::blocks_at_once;
    return made;
  });
}

host_array<placed_rating> graph_sgd_arrays::ordered() const {
  host_array<placed_rating> values(ordered_.size());
  executor_.read(values.data(), ordered_.data(), ordered_.bytes());
  return values;
}

void graph_sgd_arrays::write_first() {
  std::vector<float> some(std::size_t{1} << 16);  // all at once would be more than the ratings, as a rule
  std::uint64_t number = 0;
  for (auto* const array : {&user_factors_, &item_factors_}) {
    for (std::size_t begin = 0; begin < array->size(); begin += some.size()) {
      auto const part = std::span{some}.first(std::min(some.size(), array->size() - begin));
      first_factors(part, number, settings_);
      array->write(part, begin);
      number += part.size();
    }
  }
}

void graph_sgd_arrays::reset() {
  write_first();
  square_.fill_zero();
  held_out_square_.fill_zero();
  folded_.fill_zero();
  epoch_square_.fill_zero();
  stopped_.fill_zero();
}

std::vector<task_array> graph_sgd_arrays::written() const {
  std::uint64_t const factors = settings_.factors;
  return {array_of("user_factors", user_factors_, {user_factors_.size() / factors, factors}),
          array_of("item_factors", item_factors_, {item_factors_.size() / factors, factors}),
          array_of("square", square_),
          array_of("held_out_square", held_out_square_),
          array_of("folded", folded_),
          array_of("epoch_square", epoch_square_, {2, settings_.epochs}),
          array_of("stopped", stopped_)};
}

std::vector<epoch_errors> graph_sgd_arrays::errors() const {
  std::vector<double> const square = epoch_square_.read();
  std::vector<epoch_errors> made;
  for (std::size_t epoch = 0; epoch < settings_.epochs; ++epoch) {
    made.push_back(
        {root_mean(square[epoch], ordered_.size()), root_mean(square[settings_.epochs + epoch], held_out_.size())});
  }
  return made;
}

std::uint64_t graph_sgd_arrays::bytes(std::uint64_t ratings, std::uint64_t held_out, std::uint64_t groups,
                                      std::uint64_t blocks, std::uint64_t rows,
                                      graph_sgd_settings const& settings) noexcept {
  std::uint64_t const judged = parts(held_out, any_sgd::judged);
  std::uint64_t const doubles = groups + judged + parts(judged, any_sgd::fold) + 2 * std::uint64_t{settings.epochs};
  return ratings * sizeof(placed_rating) + (blocks + 1) * sizeof(std::uint64_t) + held_out * sizeof(rating) +
         rows * settings.factors * sizeof(float) + doubles * sizeof(double) + sizeof(std::uint32_t);
}

}  // namespace lull
