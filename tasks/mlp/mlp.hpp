// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <lull/device/side_task.hpp>
#include <lull/tasks/mlp/mlp_model.hpp>
#include <lull/tasks/mlp/shuffled.hpp>
#include <lull/tasks/product/product.hpp>

namespace lull {

/// Trains a perceptron with ReLU and softmax cross-entropy by AdamW, and judges it after each epoch; or only judges,
/// with epochs of no training steps. Source: Rumelhart, Hinton, Williams, "Learning representations by back-propagating
/// errors", Nature 323, 1986.
struct mlp_task {
  static constexpr team_shape shape{
      .threads = product_threads, .steps = 1, .shared_bytes = product_storage_bytes, .blocks_per_sm = 2};

  mlp_model const* model;

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    mlp_model const& m = *model;
    if (at.round >= m.program.phases() || *m.stopped != 0) return finished;
    mlp_point const here = m.program.at(at.round);
    std::uint32_t const rows = rows_of(here);
    switch (here.what) {
      case mlp_phase::load:
        return load_items(rows);
      case mlp_phase::forward:
        return product_tiles(rows, m.layers[here.layer].outputs);
      case mlp_phase::loss:
      case mlp_phase::judge:
        return row_items(rows) + load_items(rows_of(next_step(here)));
      case mlp_phase::backward:
        return product_tiles(rows, m.layers[here.layer].inputs) + update_items(m.layers[here.layer + 1]);
      case mlp_phase::update:
        return 1 + update_items(m.layers[0]) + (m.program.layers > 1 ? update_items(m.layers[1]) : 0);
    }
    return finished;
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    mlp_point const here = model->program.at(c.at.round);
    // After the first item something is stored: then the chunk can no longer be handed back.
    polling const polls = c.size() == 1 ? polling::yes : polling::no;
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      if (model->precision == mlp_precision::bf16)
        run<bfloat16>(here, item, polls, team);
      else
        run_in_fp32(here, item, polls, team);
    }
  }

  /// Counts the right answers of a judged batch.
  LULL_HD void advance(position ended, auto const& team) const noexcept {
    mlp_model const& m = *model;
    mlp_point const here = m.program.at(ended.round);
    if (here.what != mlp_phase::judge) return;
    std::uint64_t right = 0;
    for (std::uint32_t row = first(team); row < rows_of(here); row += stride(team)) right += m.right[row];
    right = team.sum(right);
    if (team.rank() == 0)
      m.epoch_right[here.epoch] = right + (here.step == m.program.train_steps ? 0 : m.epoch_right[here.epoch]);
  }

 private:
  static constexpr std::uint32_t loaded_rows = 8;      // an item
  static constexpr std::uint32_t summed_columns = 16;  // of the gradients of biases, an item
  static constexpr std::uint32_t summed_slices = 32;   // of a column
  static_assert(summed_columns * summed_slices * sizeof(float) <= product_storage_bytes);

  LULL_HD static std::uint64_t row_items(std::uint32_t rows) noexcept { return (rows + thin_rows - 1) / thin_rows; }
  LULL_HD static std::uint64_t load_items(std::uint32_t rows) noexcept {
    return (rows + loaded_rows - 1) / loaded_rows;
  }
  LULL_HD static std::uint64_t bias_items(mlp_layer const& layer) noexcept {
    return (layer.outputs + summed_columns - 1) / summed_columns;
  }
  LULL_HD static std::uint64_t update_items(mlp_layer const& layer) noexcept {
    return product_tiles(layer.inputs, layer.outputs) + bias_items(layer);
  }
  LULL_HD static std::uint32_t first(auto const& team) noexcept { return static_cast<std::uint32_t>(team.rank()); }
  LULL_HD static std::uint32_t stride(auto const& team) noexcept { return static_cast<std::uint32_t>(team.size()); }

  LULL_HD bool judges(mlp_point const& at) const noexcept { return at.step >= model->program.train_steps; }
  LULL_HD std::uint32_t buffer_of(mlp_point const& at) const noexcept { return model->program.batches_before(at) % 2; }

  /// Returns where a step's batch begins among its rows.
  LULL_HD std::uint32_t begin_of(mlp_point const& at) const noexcept {
    return (judges(at) ? at.step - model->program.train_steps : at.step) * model->batch;
  }
  /// Returns the rows of a step's batch; none after the last step.
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

  /// fp32 is the slow path on GPUs; keep it out of line.
  LULL_HD LULL_COLD void run_in_fp32(mlp_point const& here, std::uint64_t item, polling polls,
                                     auto const& team) const noexcept {
    run<float>(here, item, polls, team);
  }

  template <class Number>
  LULL_HD void run(mlp_point const& here, std::uint64_t item, polling polls, auto const& team) const noexcept {
    mlp_model const& m = *model;
    std::uint32_t const rows = rows_of(here);
    switch (here.what) {
      case mlp_phase::load:
        load<Number>(here, item, team);
        break;
      case mlp_phase::forward:
        forward<Number>(here, item, polls, team);
        break;
      case mlp_phase::loss:
      case mlp_phase::judge:
        if (item >= row_items(rows))
          load<Number>(next_step(here), item - row_items(rows), team);
        else
          end_rows<Number>(here, static_cast<std::uint32_t>(item) * thin_rows, polls, team);
        break;
      case mlp_phase::backward: {
        std::uint64_t const tiles = product_tiles(rows, m.layers[here.layer].inputs);
        if (item < tiles)
          backward<Number>(here, item, polls, team);
        else
          update<Number>(here, here.layer + 1, item - tiles, polls, team);
        break;
      }
      case mlp_phase::update: {
        std::uint64_t const of_second = m.program.layers > 1 ? update_items(m.layers[1]) : 0;  // the larger one first
        std::uint64_t const of_both = of_second + update_items(m.layers[0]);
        if (item < of_second)
          update<Number>(here, 1, item, polls, team);
        else if (item < of_both)
          update<Number>(here, 0, item - of_second, polls, team);
        else
          sum_losses(here, team);
        break;
      }
    }
  }

  /// Returns `rows` of a matrix in the precision of products.
  template <class Number>
  LULL_HD static matrix_ref<Number> operand(void const* at, std::uint64_t rows, std::uint64_t columns,
                                            std::uint64_t first_row = 0) noexcept {
    return {static_cast<Number const*>(at) + first_row * columns, rows, columns};
  }
  template <class Number>
  LULL_HD static matrix_ref<Number> weights_of(mlp_layer const& layer) noexcept {
    return operand<Number>(layer.operand, layer.inputs, layer.outputs);
  }
  LULL_HD void const* input_of(mlp_point const& at, std::uint32_t layer) const noexcept {
    return layer == 0 ? model->inputs[buffer_of(at)] : model->layers[layer - 1].output;
  }

  // Each kind of item is a call of its own on a GPU (LULL_COLD): otherwise the constants of all of them would be kept
  // in registers at once.

  /// Loads by groups of 32 threads, a row each.
  template <class Number>
  LULL_HD LULL_COLD void load(mlp_point const& at, std::uint64_t item, auto const& team) const noexcept {
    mlp_model const& m = *model;
    bool const trains = !judges(at);
    mlp_rows const& from = trains ? m.training : m.held_out;
    shuffled const order{m.seed + at.epoch, from.rows};
    std::uint32_t const place = buffer_of(at);
    std::uint32_t const inputs = m.layers[0].inputs;
    std::uint32_t const begin = static_cast<std::uint32_t>(item) * loaded_rows;
    std::uint32_t const end = begin + loaded_rows < rows_of(at) ? begin + loaded_rows : rows_of(at);
    std::uint32_t const group = stride(team) < 32 ? stride(team) : 32;
    for (std::uint32_t row = begin + first(team) / group; row < end; row += stride(team) / group) {
      std::uint32_t const source = trains ? order.at(begin_of(at) + row) : begin_of(at) + row;
      Number* const to = static_cast<Number*>(m.inputs[place]) + std::uint64_t{row} * inputs;
      for (std::uint32_t i = first(team) % group; i < inputs; i += group) {
        to[i] = Number(i < m.features ? from.values[std::uint64_t{source} * m.features + i] * m.scale : 0.0f);
      }
      if (first(team) % group == 0) m.labels[place][row] = from.labels[source];
    }
  }

  template <class Number>
  LULL_HD LULL_COLD void forward(mlp_point const& at, std::uint64_t tile, polling polls,
                                 auto const& team) const noexcept {
    mlp_layer const layer = model->layers[at.layer];  // copied: otherwise it would be loaded again after every store
    auto const sums =
        multiply_tile<factors::plain>(team, operand<Number>(input_of(at, at.layer), rows_of(at), layer.inputs),
                                      weights_of<Number>(layer), tile, polls);
    if (sums.left) return;
    each_eight(team, sums, [&](std::uint64_t row, std::uint64_t column, float const* sum) {
      auto const bias = eight<float>::from(layer.bias.value + column);
      eight<Number> made;
      for (int i = 0; i < 8; ++i) {
        float const value = sum[i] + bias.at[i];
        made.at[i] = Number(value < 0 ? 0.0f : value);  // what is no number stays that
      }
      made.to(static_cast<Number*>(layer.output) + row * layer.outputs + column);
    });
  }

  /// Logits of some rows, in storage that lasts until the team multiplies again. Null: the team leaves.
  struct logits_ref {
    float const* at;  // (thin_rows, pitch)
    std::uint64_t pitch;
  };
  template <class Number>
  LULL_HD logits_ref logits_of(mlp_point const& at, std::uint32_t begin, std::uint32_t count, polling polls,
                               auto const& team) const noexcept {
    std::uint32_t const which = model->program.layers - 1;
    mlp_layer const layer = model->layers[which];
    auto const input = operand<Number>(input_of(at, which), count, layer.inputs, begin);
    std::uint64_t const tiles = product_tiles(count, layer.outputs);
    float* to = model->logits != nullptr ? model->logits + std::uint64_t{begin} * layer.outputs : nullptr;
    std::uint64_t pitch = layer.outputs;
    for (std::uint64_t tile = 0; tile < tiles; ++tile) {
      // After the first tile something is stored, so the team no longer polls.
      auto const sums =
          multiply_tile<factors::plain>(team, input, weights_of<Number>(layer), tile, tile == 0 ? polls : polling::no);
      if (sums.left) return {nullptr, 0};
      if (model->logits == nullptr) {
        to = sums.at;
        pitch = sums.pitch;
      }
      each_eight(team, sums, [&](std::uint64_t row, std::uint64_t column, float const* sum) {
        for (std::uint64_t i = 0; i < 8; ++i) to[row * pitch + column + i] = sum[i] + layer.bias.value[column + i];
      });
    }
    team.sync();
    return {to, pitch};
  }

  /// The greatest logit of a row, and the sum of all exponentials relative to it.
  struct softmax {
    float greatest;
    std::uint32_t which;
    float sum;

    LULL_HD softmax(float const* logits, std::uint32_t classes) noexcept : greatest(logits[0]), which(0), sum(0) {
      for (std::uint32_t c = 1; c < classes; ++c) {
        which = logits[c] > greatest ? c : which;
        greatest = logits[c] > greatest ? logits[c] : greatest;
      }
      for (std::uint32_t c = 0; c < classes; ++c) sum += std::exp(logits[c] - greatest);
    }
  };

  /// Computes the last layer of some rows of a batch: forward, the loss or the judging, and back if it trains.
  template <class Number>
  LULL_HD LULL_COLD void end_rows(mlp_point const& at, std::uint32_t begin, polling polls,
                                  auto const& team) const noexcept {
    mlp_model const& m = *model;
    mlp_layer const layer = m.layers[m.program.layers - 1];
    std::uint32_t const rows = rows_of(at);
    std::uint32_t const count = rows - begin < thin_rows ? rows - begin : thin_rows;
    logits_ref const logits = logits_of<Number>(at, begin, count, polls, team);
    if (logits.at == nullptr) return;
    for (std::uint32_t row = first(team); row < count; row += stride(team)) {
      if (judges(at))
        judge(at, begin + row, logits.at + row * logits.pitch);
      else
        loss(at, begin + row, logits.at + row * logits.pitch,
             static_cast<Number*>(layer.gradient) + std::uint64_t{begin + row} * layer.outputs);
    }
    if (judges(at) || m.program.layers == 1) return;
    team.sync();  // the gradients of the logits, for the whole team
    mlp_layer const& below = m.layers[m.program.layers - 2];
    std::uint64_t const place = std::uint64_t{begin} * layer.inputs;
    multiply_thin(team, operand<Number>(layer.gradient, count, layer.outputs, begin), weights_of<Number>(layer),
                  static_cast<Number const*>(below.output) + place, static_cast<Number*>(below.gradient) + place);
  }

  template <class Number>
  LULL_HD void loss(mlp_point const& at, std::uint32_t row, float const* logits, Number* gradient) const noexcept {
    mlp_model const& m = *model;
    softmax const s{logits, m.classes};
    std::uint32_t const label = m.labels[buffer_of(at)][row];
    m.loss[row] = std::log(s.sum) + s.greatest - logits[label];
    auto const rows = static_cast<float>(rows_of(at));
    for (std::uint32_t c = 0; c < m.layers[m.program.layers - 1].outputs; ++c) {
      gradient[c] =
          Number(c < m.classes ? (std::exp(logits[c] - s.greatest) / s.sum - (c == label ? 1.0f : 0.0f)) / rows : 0.0f);
    }
  }

  LULL_HD void judge(mlp_point const& at, std::uint32_t row, float const* logits) const noexcept {
    mlp_model const& m = *model;
    softmax const s{logits, m.classes};
    m.right[row] = s.which == m.labels[buffer_of(at)][row] ? 1 : 0;
    if (m.answers == nullptr) return;
    m.answers[begin_of(at) + row] = s.which;
    m.certainty[begin_of(at) + row] = 1 / s.sum;
  }

  /// Computes the gradient of a layer's inputs, which are the outputs of the layer below.
  template <class Number>
  LULL_HD LULL_COLD void backward(mlp_point const& at, std::uint64_t tile, polling polls,
                                  auto const& team) const noexcept {
    mlp_layer const layer = model->layers[at.layer];
    mlp_layer const below = model->layers[at.layer - 1];
    auto const sums = multiply_tile<factors::right_transposed>(
        team, operand<Number>(layer.gradient, rows_of(at), layer.outputs), weights_of<Number>(layer), tile, polls);
    if (sums.left) return;
    each_eight(team, sums, [&](std::uint64_t row, std::uint64_t column, float const* sum) {
      std::uint64_t const place = row * layer.inputs + column;
      auto const output = eight<Number>::from(static_cast<Number const*>(below.output) + place);
      eight<Number> made;
      for (int i = 0; i < 8; ++i) made.at[i] = Number(static_cast<float>(output.at[i]) > 0 ? sum[i] : 0.0f);
      made.to(static_cast<Number*>(below.gradient) + place);
    });
  }

  /// Items are tiles of the weights, then biases. A tile's gradient is never stored: one team has all of it.
  template <class Number>
  LULL_HD LULL_COLD void update(mlp_point const& at, std::uint32_t which, std::uint64_t item, polling polls,
                                auto const& team) const noexcept {
    mlp_layer const layer = model->layers[which];
    std::uint64_t const tiles = product_tiles(layer.inputs, layer.outputs);
    auto const gradient = operand<Number>(layer.gradient, rows_of(at), layer.outputs);
    adamw const by{*model, model->program.steps_before(at) + 1};
    if (item >= tiles)
      return update_bias(layer, gradient, by, static_cast<std::uint32_t>(item - tiles) * summed_columns, team);
    auto const sums = multiply_tile<factors::left_transposed>(
        team, operand<Number>(input_of(at, which), rows_of(at), layer.inputs), gradient, item, polls);
    if (sums.left) return;
    each_eight(team, sums, [&](std::uint64_t row, std::uint64_t column, float const* sum) {
      std::uint64_t const place = row * layer.outputs + column;
      auto const value = by.apply(layer.weights, place, sum);
      if constexpr (!std::is_same_v<Number, float>) {
        eight<Number> rounded;
        for (int i = 0; i < 8; ++i) rounded.at[i] = Number(value.at[i]);
        rounded.to(static_cast<Number*>(layer.operand) + place);
      }
    });
  }

  /// Sums slices of columns first, so that every thread has a few rows; then the slices, in their order.
  template <class Number>
  LULL_HD void update_bias(mlp_layer const& layer, matrix_ref<Number> gradient, adamw const& by, std::uint32_t begin,
                           auto const& team) const noexcept {
    float* const sums = static_cast<float*>(team.shared());  // (slices, columns)
    std::uint32_t const left = layer.outputs - begin;
    std::uint32_t const count = left < summed_columns ? left : summed_columns;
    team.sync();  // others may still look at the sums of the item before
    for (std::uint32_t at = first(team); at < summed_slices * summed_columns; at += stride(team)) {
      if (at % summed_columns >= count) continue;
      Number const* const column = gradient.at + begin + at % summed_columns;
      float sum = 0;
      for (std::uint64_t row = at / summed_columns; row < gradient.rows; row += summed_slices)
        sum += static_cast<float>(column[row * gradient.columns]);
      sums[at] = sum;
    }
    team.sync();
    for (std::uint32_t at = first(team); at < count; at += stride(team)) {
      float sum = 0;
      for (std::uint32_t slice = 0; slice < summed_slices; ++slice) sum += sums[slice * summed_columns + at];
      by.apply(layer.bias.value[begin + at], layer.bias.mean[begin + at], layer.bias.square[begin + at], sum);
    }
  }

  LULL_HD void sum_losses(mlp_point const& at, auto const& team) const noexcept {
    mlp_model const& m = *model;
    float sum = 0;
    for (std::uint32_t row = first(team); row < rows_of(at); row += stride(team)) sum += m.loss[row];
    sum = team.sum(sum);
    if (team.rank() != 0) return;
    m.epoch_loss[at.epoch] = static_cast<double>(sum) + (at.step == 0 ? 0.0 : m.epoch_loss[at.epoch]);
    if (!std::isfinite(sum)) *m.stopped = 1;
  }
};

static_assert(is_side_task<mlp_task>());

}  // namespace lull
