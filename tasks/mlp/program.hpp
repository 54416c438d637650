// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/world.hpp>

namespace lull {

/// The work of a phase.
enum class mlp_phase {
  load,      // the first batch
  forward,   // through one layer, not the last
  loss,      // of each row: through the last layer, and back through it; beside it the next batch is loaded
  backward,  // through one layer: the gradient of its inputs; beside it the layer above is updated, whose weights
             // no later phase needs them
  update,    // of the layers that were not yet
  judge      // each row of a held-out batch: through the last layer, right or wrong; beside it the next batch is loaded
};

/// A step of training or of judging, and a phase of it.
struct mlp_point {
  mlp_phase what = mlp_phase::load;
  std::uint32_t layer = 0;
  std::uint32_t epoch = 0;
  std::uint32_t step = 0;  // of the epoch; those that judge follow those that train
};

/// Training as phases, one a round, n being the layers of weights. What lies between two phases costs as much as a
/// small product, so there are as few as the products' order allows: a product is followed by another only where it
/// needs all of it.
///   load                                                                                   once
///   an epoch:  a training step: forward 0 … n−2, loss, backward n−2 … 1, update             train_steps times
///              a judging step:  forward 0 … n−2, judge                                      judge_steps times
struct mlp_program {
  std::uint32_t layers;  // n
  std::uint32_t train_steps;
  std::uint32_t judge_steps;
  std::uint32_t epochs;

  LULL_HD std::uint32_t backward_phases() const noexcept { return layers > 2 ? layers - 2 : 0; }
  LULL_HD std::uint64_t train_phases() const noexcept { return std::uint64_t{layers} + backward_phases() + 1; }
  LULL_HD std::uint64_t judge_phases() const noexcept { return layers; }
  LULL_HD std::uint64_t phases_of_epoch() const noexcept {
    return train_steps * train_phases() + judge_steps * judge_phases();
  }
  LULL_HD std::uint64_t phases() const noexcept { return 1 + epochs * phases_of_epoch(); }

  LULL_HD mlp_point at(std::uint64_t round) const noexcept {
    if (round == 0) return {};
    std::uint64_t const all = round - 1;
    std::uint64_t const of_epoch = all % phases_of_epoch();
    mlp_point made;
    made.epoch = static_cast<std::uint32_t>(all / phases_of_epoch());
    std::uint64_t const training = train_steps * train_phases();
    if (of_epoch < training) {
      made.step = static_cast<std::uint32_t>(of_epoch / train_phases());
      auto const phase = static_cast<std::uint32_t>(of_epoch % train_phases());
      std::uint32_t const backward = layers + backward_phases();
      made.what = phase + 1 < layers ? mlp_phase::forward
                  : phase < layers   ? mlp_phase::loss
                  : phase < backward ? mlp_phase::backward
                                     : mlp_phase::update;
      made.layer = phase < layers ? phase : backward - phase;  // backward from the last but one to layer 1
      return made;
    }
    made.step = train_steps + static_cast<std::uint32_t>((of_epoch - training) / judge_phases());
    auto const phase = static_cast<std::uint32_t>((of_epoch - training) % judge_phases());
    made.what = phase + 1 < layers ? mlp_phase::forward : mlp_phase::judge;
    made.layer = phase;
    return made;
  }

  /// Returns the training steps before this point.
  LULL_HD std::uint64_t steps_before(mlp_point const& at) const noexcept {
    return std::uint64_t{at.epoch} * train_steps + (at.step < train_steps ? at.step : train_steps);
  }
  /// Returns the steps of either kind before this point: batches use two places in turn.
  LULL_HD std::uint64_t batches_before(mlp_point const& at) const noexcept {
    return std::uint64_t{at.epoch} * (train_steps + judge_steps) + at.step;
  }
};

}  // namespace lull
