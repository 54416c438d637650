// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <lull/tasks/mlp/mlp_arrays.hpp>

namespace lull {

/// What a trained perceptron is held against: plain loops in double precision, which share no code with the task.
///
/// Mean loss over the rows of the first epoch, each row's taken before the step that it is part of.
double reference_first_loss(std::span<layer_values const> first, row_table const& training, mlp_settings const& settings);

/// Rows whose greatest logit is their label's.
std::uint64_t reference_right(std::span<layer_values const> layers, row_table const& rows, double scale);

}  // namespace lull
