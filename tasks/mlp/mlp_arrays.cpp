// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/mlp_arrays.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include <lull/host/counter_random.hpp>

namespace lull {

std::vector<layer_values> first_layers(std::span<std::uint32_t const> sizes, std::uint64_t seed) {
  std::vector<layer_values> made;
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    layer_values layer{sizes[l], sizes[l + 1], std::vector<float>(std::size_t{sizes[l]} * sizes[l + 1]), std::vector<float>(sizes[l + 1])};
    counter_random const random{seed, l};
    double const reach = 1 / std::sqrt(static_cast<double>(layer.inputs));
    std::uint64_t drawn = 0;
    auto const draw = [&] { return static_cast<float>((static_cast<double>(random.at(drawn++) >> 11) * 0x1p-52 - 1) * reach); };
    std::generate(layer.weights.begin(), layer.weights.end(), draw);
    std::generate(layer.bias.begin(), layer.bias.end(), draw);
    made.push_back(std::move(layer));
  }
  return made;
}

row_table rows_of(labelled_rows const& all, std::span<std::uint32_t const> which) {
  row_table made;
  made.values.reserve(which.size() * all.features);
  for (std::uint32_t const row : which) {
    auto const begin = all.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * all.features);
    made.values.insert(made.values.end(), begin, begin + all.features);
    made.labels.push_back(all.labels[row]);
  }
  return made;
}

mlp_arrays::mlp_arrays(executor& machine, std::span<layer_values const> layers, row_table const& training, row_table const& held_out,
                       mlp_settings const& settings)
    : first_(layers.begin(), layers.end()) {
  if (layers.empty() || layers.size() > mlp_model::most_layers) throw std::logic_error{"a perceptron of too many layers, or of none"};
  auto const steps_of = [&](row_table const& rows) { return static_cast<std::uint32_t>((rows.labels.size() + settings.batch - 1) / settings.batch); };
  mlp_model model{};
  model.program = {static_cast<std::uint32_t>(layers.size()), steps_of(training), steps_of(held_out), settings.epochs};
  model.batch = settings.batch;
  model.features = layers.front().inputs;
  model.scale = settings.scale;
  model.seed = settings.seed;
  model.rate = settings.rate;
  model.mean_decay = settings.mean_decay;
  model.square_decay = settings.square_decay;
  model.epsilon = settings.epsilon;
  model.weight_decay = settings.weight_decay;
  std::uint64_t const batch = settings.batch;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    layer_arrays made;
    for (auto& each : made.weights) each = {machine, first_[l].weights.size()};
    for (auto& each : made.bias) each = {machine, first_[l].bias.size()};
    made.output = {machine, batch * first_[l].outputs};
    made.gradient = {machine, batch * first_[l].outputs};
    model.layers[l] = {.inputs = first_[l].inputs,
                       .outputs = first_[l].outputs,
                       .weights = {made.weights[0].data(), made.weights[1].data(), made.weights[2].data()},
                       .bias = {made.bias[0].data(), made.bias[1].data(), made.bias[2].data()},
                       .output = made.output.data(),
                       .gradient = made.gradient.data()};
    layers_.push_back(std::move(made));
  }
  row_table const* const tables[2] = {&training, &held_out};
  for (int t = 0; t < 2; ++t) {
    values_[t] = {machine, std::span<float const>{tables[t]->values}};
    labels_[t] = {machine, std::span<std::uint32_t const>{tables[t]->labels}};
    (t == 0 ? model.training : model.held_out) = {values_[t].data(), labels_[t].data(), static_cast<std::uint32_t>(tables[t]->labels.size())};
    model.inputs[t] = (inputs_[t] = {machine, batch * model.features}).data();
    model.labels[t] = (batch_labels_[t] = {machine, batch}).data();
  }
  model.loss = (loss_ = {machine, batch}).data();
  model.right = (right_ = {machine, batch}).data();
  model.epoch_loss = (epoch_loss_ = {machine, settings.epochs}).data();
  model.epoch_right = (epoch_right_ = {machine, settings.epochs}).data();
  model.stopped = (stopped_ = {machine, 1}).data();
  if (training.labels.empty()) {
    model.answers = (answers_ = {machine, held_out.labels.size()}).data();
    model.certainty = (certainty_ = {machine, held_out.labels.size()}).data();
  }
  model_ = {machine, std::span<mlp_model const>{&model, 1}};
  reset();
}

void mlp_arrays::reset() {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    layers_[l].weights[0].write(first_[l].weights);
    layers_[l].bias[0].write(first_[l].bias);
    for (int moment : {1, 2}) {
      layers_[l].weights[moment].fill_zero();
      layers_[l].bias[moment].fill_zero();
    }
  }
  epoch_loss_.fill_zero();
  epoch_right_.fill_zero();
  stopped_.fill_zero();
}

std::vector<task_array> mlp_arrays::written() const {
  std::vector<task_array> all;
  auto const add = [&](std::string name, auto const& array) {
    if (array.size() != 0) all.push_back({std::move(name), array.data(), array.bytes()});
  };
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    std::string const layer = std::to_string(l);
    char const* const names[3] = {"", "_mean", "_square"};
    for (int i = 0; i < 3; ++i) {
      add("weights" + layer + names[i], layers_[l].weights[i]);
      add("bias" + layer + names[i], layers_[l].bias[i]);
    }
    add("output" + layer, layers_[l].output);
    add("gradient" + layer, layers_[l].gradient);
  }
  for (int t = 0; t < 2; ++t) {
    add("inputs" + std::to_string(t), inputs_[t]);
    add("labels" + std::to_string(t), batch_labels_[t]);
  }
  add("loss", loss_);
  add("right", right_);
  add("epoch_loss", epoch_loss_);
  add("epoch_right", epoch_right_);
  add("answers", answers_);
  add("certainty", certainty_);
  add("stopped", stopped_);
  return all;
}

std::vector<layer_values> mlp_arrays::layers() const {
  std::vector<layer_values> found;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    found.push_back({first_[l].inputs, first_[l].outputs, layers_[l].weights[0].read(), layers_[l].bias[0].read()});
  }
  return found;
}

}  // namespace lull
