// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include <lull/device/side_task.hpp>
#include <lull/tasks/mlp/program.hpp>
#include <lull/tasks/mlp/shuffled.hpp>
#include <lull/tasks/product/product.hpp>

namespace lull {

/// A parameter under AdamW.
struct adamw_state {
  float* value;
  float* mean;    // of its gradients
  float* square;  // mean of their squares
};

struct mlp_layer {
  std::uint32_t inputs;
  std::uint32_t outputs;
  adamw_state weights;  // (inputs, outputs)
  adamw_state bias;     // (outputs,)
  float* output;        // (batch, outputs): activations, of the last layer the logits
  float* gradient;      // (batch, outputs): of the loss by what stands there before the activation
};

/// Rows with their classes, on the machine.
struct mlp_rows {
  float const* values;           // (rows, features)
  std::uint32_t const* labels;  // (rows,)
  std::uint32_t rows;
};

/// A perceptron, its data, and how it is trained. Stands in the machine's memory; constant while a job is about.
struct mlp_model {
  static constexpr std::uint32_t most_layers = 9;

  mlp_program program;
  mlp_layer layers[most_layers];
  mlp_rows training;
  mlp_rows held_out;
  std::uint32_t batch;
  std::uint32_t features;
  float scale;          // of all features
  std::uint64_t seed;   // of the shuffles
  float rate;
  float mean_decay;     // beta 1
  float square_decay;   // beta 2
  float epsilon;
  float weight_decay;
  float* inputs[2];            // (batch, features) each: batches in turn
  std::uint32_t* labels[2];    // (batch,) each
  float* loss;                 // (batch,)
  std::uint32_t* right;        // (batch,) 1 or 0
  double* epoch_loss;          // (epochs,) sums over rows
  std::uint64_t* epoch_right;  // (epochs,)
  std::uint32_t* answers;      // (held-out rows,) classes, or null
  float* certainty;            // (held-out rows,) probabilities of those, or null
  std::uint32_t* stopped;      // (1,) 1: a loss was no number
};

/// Trains a perceptron with ReLU and softmax cross-entropy by AdamW, and judges it after each epoch; or judges alone, with epochs of
/// no training steps. Products in fp32. Sources: Rumelhart, Hinton, Williams, "Learning representations by back-propagating errors",
/// Nature 323, 1986; Loshchilov, Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2.
struct mlp_task {
  static constexpr team_shape shape{.threads = 128, .steps = 1, .shared_bytes = 0, .blocks_per_sm = 4};

  mlp_model const* model;

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    mlp_model const& m = *model;
    if (at.round >= m.program.phases() || *m.stopped != 0) return finished;
    mlp_point const here = m.program.at(at.round);
    std::uint32_t const rows = rows_of(here);
    switch (here.what) {
      case mlp_phase::load: return rows_items(rows);
      case mlp_phase::forward: return product_tiles(rows, m.layers[here.layer].outputs);
      case mlp_phase::loss: return rows_items(rows);
      case mlp_phase::backward: return product_tiles(rows, m.layers[here.layer].inputs);
      case mlp_phase::update: return update_items() + 1 + rows_items(rows_of(next_step(here)));
      case mlp_phase::judge: return rows_items(rows) + rows_items(rows_of(next_step(here)));
    }
    return finished;
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    mlp_point const here = model->program.at(c.at.round);
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      switch (here.what) {
        case mlp_phase::load: load(here, item, team); break;
        case mlp_phase::forward: forward(here, item, team); break;
        case mlp_phase::loss: loss(here, item, team); break;
        case mlp_phase::backward: backward(here, item, team); break;
        case mlp_phase::update: update(here, item, team); break;
        case mlp_phase::judge: judge(here, item, team); break;
      }
    }
  }

  /// What was right in a judged batch is counted.
  LULL_HD void advance(position ended, auto const& team) const noexcept {
    mlp_model const& m = *model;
    mlp_point const here = m.program.at(ended.round);
    if (here.what != mlp_phase::judge) return;
    std::uint64_t right = 0;
    for (std::uint32_t row = first(team); row < rows_of(here); row += stride(team)) right += m.right[row];
    right = team.sum(right);
    if (team.rank() == 0) m.epoch_right[here.epoch] = right + (here.step == m.program.train_steps ? 0 : m.epoch_right[here.epoch]);
  }

 private:
  static constexpr std::uint32_t rows_of_item = 32;
  static constexpr std::uint32_t columns_of_item = 64;

  LULL_HD static std::uint64_t rows_items(std::uint32_t rows) noexcept { return (rows + rows_of_item - 1) / rows_of_item; }
  LULL_HD static std::uint32_t first(auto const& team) noexcept { return static_cast<std::uint32_t>(team.rank()); }
  LULL_HD static std::uint32_t stride(auto const& team) noexcept { return static_cast<std::uint32_t>(team.size()); }

  LULL_HD bool judges(mlp_point const& at) const noexcept { return at.step >= model->program.train_steps; }
  LULL_HD mlp_layer const& last() const noexcept { return model->layers[model->program.layers - 1]; }
  LULL_HD std::uint32_t place_of(mlp_point const& at) const noexcept { return model->program.batches_before(at) % 2; }

  /// Where a step's batch begins among its rows.
  LULL_HD std::uint32_t begin_of(mlp_point const& at) const noexcept {
    return (judges(at) ? at.step - model->program.train_steps : at.step) * model->batch;
  }
  /// Rows of a step's batch; behind the last step none.
  LULL_HD std::uint32_t rows_of(mlp_point const& at) const noexcept {
    if (at.epoch >= model->program.epochs) return 0;
    std::uint32_t const all = judges(at) ? model->held_out.rows : model->training.rows;
    std::uint32_t const left = all - begin_of(at);
    return left < model->batch ? left : model->batch;
  }
  LULL_HD mlp_point next_step(mlp_point at) const noexcept {
    mlp_program const& program = model->program;
    if (++at.step == program.train_steps + program.judge_steps) {
      at.step = 0;
      ++at.epoch;
    }
    return at;
  }

  LULL_HD float const* input_of(mlp_point const& at) const noexcept {
    return at.layer == 0 ? model->inputs[place_of(at)] : model->layers[at.layer - 1].output;
  }

  LULL_HD void load(mlp_point const& at, std::uint64_t item, auto const& team) const noexcept {
    mlp_model const& m = *model;
    bool const trains = !judges(at);
    mlp_rows const& from = trains ? m.training : m.held_out;
    shuffled const order{m.seed + at.epoch, from.rows};
    std::uint32_t const place = place_of(at);
    std::uint32_t const begin = static_cast<std::uint32_t>(item) * rows_of_item;
    std::uint32_t const end = begin + rows_of_item < rows_of(at) ? begin + rows_of_item : rows_of(at);
    for (std::uint32_t row = begin; row < end; ++row) {
      std::uint32_t const source = trains ? order.at(begin_of(at) + row) : begin_of(at) + row;
      for (std::uint32_t i = first(team); i < m.features; i += stride(team)) {
        m.inputs[place][std::uint64_t{row} * m.features + i] = from.values[std::uint64_t{source} * m.features + i] * m.scale;
      }
      if (team.rank() == 0) m.labels[place][row] = from.labels[source];
    }
  }

  LULL_HD void forward(mlp_point const& at, std::uint64_t tile, auto const& team) const noexcept {
    mlp_layer const& layer = model->layers[at.layer];
    bool const hidden = at.layer + 1 < model->program.layers;
    multiply_tile(team, by_rows(input_of(at), layer.inputs), by_rows<float>(layer.weights.value, layer.outputs), rows_of(at), layer.outputs,
                  layer.inputs, tile, [&](std::uint64_t row, std::uint64_t column, float sum) {
                    float const value = sum + layer.bias.value[column];
                    layer.output[row * layer.outputs + column] = hidden && value < 0 ? 0.0f : value;
                  });
  }

  /// The greatest logit of a row, and the sum of all exponentials relative to it.
  struct softmax {
    float greatest;
    std::uint32_t which;
    float sum;
  };
  LULL_HD softmax softmax_of(std::uint32_t row) const noexcept {
    std::uint32_t const classes = last().outputs;
    float const* const logits = last().output + std::uint64_t{row} * classes;
    softmax found{logits[0], 0, 0};
    for (std::uint32_t c = 1; c < classes; ++c) {
      if (logits[c] > found.greatest) found = {logits[c], c, 0};
    }
    for (std::uint32_t c = 0; c < classes; ++c) found.sum += std::exp(logits[c] - found.greatest);
    return found;
  }

  LULL_HD void loss(mlp_point const& at, std::uint64_t item, auto const& team) const noexcept {
    mlp_model const& m = *model;
    std::uint32_t const classes = last().outputs;
    std::uint32_t const rows = rows_of(at);
    std::uint32_t const begin = static_cast<std::uint32_t>(item) * rows_of_item;
    for (std::uint32_t row = begin + first(team); row < rows && row < begin + rows_of_item; row += stride(team)) {
      softmax const s = softmax_of(row);
      std::uint32_t const label = m.labels[place_of(at)][row];
      float const* const logits = last().output + std::uint64_t{row} * classes;
      float* const gradient = last().gradient + std::uint64_t{row} * classes;
      m.loss[row] = std::log(s.sum) + s.greatest - logits[label];
      for (std::uint32_t c = 0; c < classes; ++c) {
        gradient[c] = (std::exp(logits[c] - s.greatest) / s.sum - (c == label ? 1.0f : 0.0f)) / static_cast<float>(rows);
      }
    }
  }

  /// The gradient of a layer's inputs, which are the outputs of the layer below.
  LULL_HD void backward(mlp_point const& at, std::uint64_t tile, auto const& team) const noexcept {
    mlp_layer const& layer = model->layers[at.layer];
    mlp_layer const& below = model->layers[at.layer - 1];
    multiply_tile(team, by_rows<float>(layer.gradient, layer.outputs), by_rows<float>(layer.weights.value, layer.outputs).transposed(), rows_of(at),
                  layer.inputs, layer.outputs, tile, [&](std::uint64_t row, std::uint64_t column, float sum) {
                    std::uint64_t const element = row * layer.inputs + column;
                    below.gradient[element] = below.output[element] > 0 ? sum : 0.0f;
                  });
  }

  LULL_HD std::uint64_t update_items() const noexcept {
    std::uint64_t all = 0;
    for (std::uint32_t l = 0; l < model->program.layers; ++l) all += items_of_layer(model->layers[l]);
    return all;
  }
  LULL_HD static std::uint64_t items_of_layer(mlp_layer const& layer) noexcept {
    return product_tiles(layer.inputs, layer.outputs) + (layer.outputs + columns_of_item - 1) / columns_of_item;
  }

  /// Items: tiles and biases of each layer, then the sum of the losses, then the next batch.
  LULL_HD void update(mlp_point const& at, std::uint64_t item, auto const& team) const noexcept {
    for (std::uint32_t l = 0; l < model->program.layers; ++l) {
      std::uint64_t const here = items_of_layer(model->layers[l]);
      if (item < here) return update_layer({at.what, l, at.epoch, at.step}, item, team);
      item -= here;
    }
    if (item == 0) return sum_losses(at, team);
    load(next_step(at), item - 1, team);
  }

  LULL_HD void update_layer(mlp_point const& at, std::uint64_t item, auto const& team) const noexcept {
    mlp_layer const& layer = model->layers[at.layer];
    std::uint64_t const tiles = product_tiles(layer.inputs, layer.outputs);
    std::uint32_t const rows = rows_of(at);
    adamw const by{*model, model->program.steps_before(at) + 1};
    if (item < tiles) {
      multiply_tile(team, by_rows(input_of(at), layer.inputs).transposed(), by_rows<float>(layer.gradient, layer.outputs), layer.inputs, layer.outputs,
                    rows, item, [&](std::uint64_t row, std::uint64_t column, float sum) {
                      by.apply(layer.weights, row * layer.outputs + column, sum);
                    });
      return;
    }
    auto const begin = static_cast<std::uint32_t>(item - tiles) * columns_of_item;
    for (std::uint32_t column = begin + first(team); column < layer.outputs && column < begin + columns_of_item; column += stride(team)) {
      float sum = 0;
      for (std::uint32_t row = 0; row < rows; ++row) sum += layer.gradient[std::uint64_t{row} * layer.outputs + column];
      by.apply(layer.bias, column, sum);
    }
  }

  /// One step of AdamW; `step` counts from 1.
  struct adamw {
    mlp_model const& m;
    float mean_scale;    // against the bias of means that began at 0
    float square_scale;

    LULL_HD adamw(mlp_model const& model, std::uint64_t step) noexcept
        : m(model),
          mean_scale(1 / (1 - std::pow(model.mean_decay, static_cast<float>(step)))),
          square_scale(1 / (1 - std::pow(model.square_decay, static_cast<float>(step)))) {}

    LULL_HD void apply(adamw_state const& of, std::uint64_t at, float gradient) const noexcept {
      float const mean = of.mean[at] = m.mean_decay * of.mean[at] + (1 - m.mean_decay) * gradient;
      float const square = of.square[at] = m.square_decay * of.square[at] + (1 - m.square_decay) * gradient * gradient;
      float const kept = of.value[at] * (1 - m.rate * m.weight_decay);
      of.value[at] = kept - m.rate * (mean * mean_scale) / (std::sqrt(square * square_scale) + m.epsilon);
    }
  };

  LULL_HD void sum_losses(mlp_point const& at, auto const& team) const noexcept {
    mlp_model const& m = *model;
    float sum = 0;
    for (std::uint32_t row = first(team); row < rows_of(at); row += stride(team)) sum += m.loss[row];
    sum = team.sum(sum);
    if (team.rank() != 0) return;
    m.epoch_loss[at.epoch] = static_cast<double>(sum) + (at.step == 0 ? 0.0 : m.epoch_loss[at.epoch]);
    if (!std::isfinite(sum)) *m.stopped = 1;
  }

  LULL_HD void judge(mlp_point const& at, std::uint64_t item, auto const& team) const noexcept {
    mlp_model const& m = *model;
    std::uint32_t const rows = rows_of(at);
    if (item >= rows_items(rows)) return load(next_step(at), item - rows_items(rows), team);
    std::uint32_t const begin = static_cast<std::uint32_t>(item) * rows_of_item;
    for (std::uint32_t row = begin + first(team); row < rows && row < begin + rows_of_item; row += stride(team)) {
      softmax const s = softmax_of(row);
      m.right[row] = s.which == m.labels[place_of(at)][row] ? 1 : 0;
      if (m.answers == nullptr) continue;
      m.answers[begin_of(at) + row] = s.which;
      m.certainty[begin_of(at) + row] = 1 / s.sum;
    }
  }
};

static_assert(side_task<mlp_task>);

}  // namespace lull
