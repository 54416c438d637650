// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/mlp_arrays.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include <lull/host/task/counter_random.hpp>

namespace lull {

std::vector<layer_values> first_layers(std::span<std::uint32_t const> sizes, std::uint64_t seed) {
  std::vector<layer_values> made;
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    layer_values layer{sizes[l], sizes[l + 1], std::vector<float>(std::size_t{sizes[l]} * sizes[l + 1]),
                       std::vector<float>(sizes[l + 1])};
    counter_random const random{seed, l};
    double const reach = 1 / std::sqrt(static_cast<double>(layer.inputs));
    std::uint64_t drawn = 0;
    auto const draw = [&] {
      return static_cast<float>((static_cast<double>(random.at(drawn++) >> 11) * 0x1p-52 - 1) * reach);
    };
    std::generate(layer.weights.begin(), layer.weights.end(), draw);
    std::generate(layer.bias.begin(), layer.bias.end(), draw);
    made.push_back(std::move(layer));
  }
  return made;
}

row_table table_of(labelled_rows const& all, std::span<std::uint32_t const> which) {
  row_table made;
  made.values.reserve(which.size() * all.features);
  for (std::uint32_t const row : which) {
    auto const begin = all.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * all.features);
    made.values.insert(made.values.end(), begin, begin + all.features);
    made.labels.push_back(all.labels[row]);
  }
  return made;
}

namespace {

std::uint32_t padded(std::uint32_t count) { return (count + 7) / 8 * 8; }

/// Adds zeros after each row and below to (rows, columns), or removes them.
std::vector<float> padded(std::vector<float> const& values, std::uint32_t rows, std::uint32_t columns) {
  std::vector<float> made(std::size_t{padded(rows)} * padded(columns));
  for (std::size_t row = 0; row < rows; ++row)
    std::copy_n(&values[row * columns], columns, &made[row * padded(columns)]);
  return made;
}
std::vector<float> unpadded(std::vector<float> const& values, std::uint32_t rows, std::uint32_t columns) {
  std::vector<float> made(std::size_t{rows} * columns);
  for (std::size_t row = 0; row < rows; ++row)
    std::copy_n(&values[row * padded(columns)], columns, &made[row * columns]);
  return made;
}

}  // namespace

memory_need mlp_arrays::needs(std::span<std::uint32_t const> sizes, std::uint64_t training_rows,
                              std::uint64_t held_out_rows, mlp_settings const& settings) {
  bool const rounds = settings.precision == mlp_precision::bf16;
  std::uint64_t const number_bytes = rounds ? sizeof(bfloat16) : sizeof(float);
  std::uint64_t const of_a_weight = 3 * sizeof(float) + (rounds ? sizeof(bfloat16) : 0);
  std::uint64_t const of_an_output = training_rows != 0 ? 2 * number_bytes : number_bytes;  // with its gradient
  std::uint64_t const features = padded(sizes.front());
  std::uint64_t bytes = settings.batch * (2 * features * number_bytes + padded(sizes.back()) * sizeof(float));
  std::uint64_t parameters = 0;
  std::uint64_t max_weights = 0;
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    std::uint64_t const outputs = padded(sizes[l + 1]);
    std::uint64_t const weights = std::uint64_t{padded(sizes[l])} * outputs;
    bytes += weights * of_a_weight + outputs * (3 * sizeof(float) + settings.batch * of_an_output);
    parameters += weights + outputs;
    max_weights = std::max(max_weights, weights);
  }
  std::uint64_t const of_a_row = sizes.front() * sizeof(float) + sizeof(std::uint32_t);
  bytes += (training_rows + held_out_rows) * of_a_row + held_out_rows * 2 * sizeof(std::uint32_t);
  bytes += settings.batch * 4 * sizeof(std::uint32_t) + settings.epochs * 2 * sizeof(double) + sizeof(mlp_model);
  bytes += settings.scaled_columns ? sizeof(std::uint32_t) : 0;
  return {.machine_bytes = bytes,
          .host_bytes = 2 * parameters * sizeof(float),                   // the owner's first ones and ours
          .preparing_bytes = (parameters + max_weights) * sizeof(float),  // as they are written into a file
          .smaller = "hidden, layers or batch"};
}

mlp_arrays::mlp_arrays(executor& executor, std::span<layer_values const> layers, row_table const& training,
                       row_table const& held_out, mlp_settings const& settings)
    : executor_(executor), first_(layers.begin(), layers.end()), precision_(settings.precision) {
  if (layers.empty() || layers.size() > mlp_model::max_layers)
    throw std::logic_error{"a perceptron of too many layers, or of none"};
  auto const steps_of = [&](row_table const& rows) {
    return static_cast<std::uint32_t>((rows.labels.size() + settings.batch - 1) / settings.batch);
  };
  mlp_model model{};
  model.program = {static_cast<std::uint32_t>(layers.size()), steps_of(training), steps_of(held_out), settings.epochs};
  rounds_ = model.program.phases();
  model.batch = settings.batch;
  model.features = layers.front().inputs;
  model.scale = settings.scale;
  model.seed = settings.seed;
  model.rate = settings.rate;
  model.mean_decay = settings.mean_decay;
  model.square_decay = settings.square_decay;
  model.epsilon = settings.epsilon;
  model.weight_decay = settings.weight_decay;
  model.precision = settings.precision;
  model.classes = layers.back().outputs;
  bool const rounds = settings.precision == mlp_precision::bf16;
  std::size_t const number_bytes = rounds ? sizeof(bfloat16) : sizeof(float);
  std::uint64_t const batch = settings.batch;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    layer_arrays made;
    std::uint32_t const inputs = padded(first_[l].inputs);
    std::uint32_t const outputs = padded(first_[l].outputs);
    std::size_t const count = std::size_t{inputs} * outputs;
    for (auto& each : made.weights) each = {executor, count};
    for (auto& each : made.bias) each = {executor, outputs};
    if (rounds) made.operand = {executor, count};
    if (l + 1 < layers.size()) made.output = {executor, batch * outputs * number_bytes};
    if (!training.labels.empty()) made.gradient = {executor, batch * outputs * number_bytes};
    model.layers[l] = {.inputs = inputs,
                       .outputs = outputs,
                       .weights = {made.weights[0].data(), made.weights[1].data(), made.weights[2].data()},
                       .bias = {made.bias[0].data(), made.bias[1].data(), made.bias[2].data()},
                       .operand = rounds ? static_cast<void*>(made.operand.data()) : made.weights[0].data(),
                       .output = made.output.data(),
                       .gradient = made.gradient.data()};
    layers_.push_back(std::move(made));
  }
  if (padded(model.classes) > thin_rows)
    model.logits = (logits_ = {executor, batch * padded(model.classes)}).data();  // a tile is as wide as high
  row_table const* const tables[2] = {&training, &held_out};
  for (int t = 0; t < 2; ++t) {
    values_[t] = {executor, std::span<float const>{tables[t]->values}};
    labels_[t] = {executor, std::span<std::uint32_t const>{tables[t]->labels}};
    mlp_rows& rows_of = t == 0 ? model.training : model.held_out;
    rows_of = {values_[t].data(), labels_[t].data(), static_cast<std::uint32_t>(tables[t]->labels.size())};
    model.inputs[t] = (inputs_[t] = {executor, batch * padded(model.features) * number_bytes}).data();
    model.labels[t] = (batch_labels_[t] = {executor, batch}).data();
  }
  model.loss = (loss_ = {executor, batch}).data();
  model.right = (right_ = {executor, batch}).data();
  model.epoch_loss = (epoch_loss_ = {executor, settings.epochs}).data();
  model.epoch_right = (epoch_right_ = {executor, settings.epochs}).data();
  model.stopped = (stopped_ = {executor, 1}).data();
  if (settings.scaled_columns) scaled_columns_ = {executor, 1};
  if (training.labels.empty()) {
    model.answers = (answers_ = {executor, held_out.labels.size()}).data();
    model.certainty = (certainty_ = {executor, held_out.labels.size()}).data();
  }
  model_ = {executor, std::span<mlp_model const>{&model, 1}};
  reset();
}

void mlp_arrays::reset() {
  for (task_array const& each : written()) executor_.fill_zero(each.memory, each.array.bytes());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    auto const weights = padded(first_[l].weights, first_[l].inputs, first_[l].outputs);
    layers_[l].weights[0].write(weights);
    std::vector<float> bias = first_[l].bias;
    bias.resize(padded(first_[l].outputs));
    layers_[l].bias[0].write(bias);
    if (layers_[l].operand.size() != 0) layers_[l].operand.write(std::vector<bfloat16>(weights.begin(), weights.end()));
  }
}

std::vector<task_array> mlp_arrays::written() const {
  std::vector<task_array> all;
  std::uint64_t const batch = loss_.size();
  auto const add = [&](std::string name, auto const& array, auto const&... as) {
    if (array.size() != 0) all.push_back(array_of(std::move(name), array, as...));
  };
  using shape = std::vector<std::uint64_t>;
  tensor_type const number = precision_ == mlp_precision::bf16 ? tensor_type::bf16 : tensor_type::f32;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    std::string const layer = std::to_string(l);
    shape const in_out{padded(first_[l].inputs), padded(first_[l].outputs)};
    shape const batch_out{batch, in_out[1]};
    char const* const names[3] = {"", "_mean", "_square"};
    for (int i = 0; i < 3; ++i) {
      add("weights" + layer + names[i], layers_[l].weights[i], in_out);
      add("bias" + layer + names[i], layers_[l].bias[i]);
    }
    add("operand" + layer, layers_[l].operand, in_out);
    add("output" + layer, layers_[l].output, number, batch_out);
    add("gradient" + layer, layers_[l].gradient, number, batch_out);
  }
  for (int t = 0; t < 2; ++t) {
    add("inputs" + std::to_string(t), inputs_[t], number, shape{batch, padded(first_.front().inputs)});
    add("labels" + std::to_string(t), batch_labels_[t]);
  }
  add("logits", logits_, shape{batch, padded(first_.back().outputs)});
  add("loss", loss_);
  add("right", right_);
  add("epoch_loss", epoch_loss_);
  add("epoch_right", epoch_right_);
  add("answers", answers_);
  add("certainty", certainty_);
  add("stopped", stopped_);
  add("scaled_columns", scaled_columns_);
  return all;
}

std::vector<layer_values> mlp_arrays::layers() const {
  std::vector<layer_values> found;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    auto const& [inputs, outputs, weights, bias] = first_[l];
    std::vector<float> const values = layers_[l].bias[0].read();
    found.push_back({inputs,
                     outputs,
                     unpadded(layers_[l].weights[0].read(), inputs, outputs),
                     {values.begin(), values.begin() + outputs}});
  }
  return found;
}

}  // namespace lull
