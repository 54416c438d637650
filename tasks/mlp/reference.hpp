// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <lull/tasks/mlp/mlp_arrays.hpp>

namespace lull {

/// Verifies a trained perceptron: plain loops in double precision, which share no code with the task.
///
/// Returns the mean loss over the rows of the first epoch, each row's taken before the step that includes it.
double reference_first_loss(std::span<layer_values const> first, row_table const& training,
                            mlp_settings const& settings);

struct reference_answers {
  std::uint64_t right = 0;  // rows whose greatest logit is their label's
  /// Rows whose two greatest logits differ by less than six standard deviations of their rounding errors.
  std::uint64_t unsure = 0;
};

/// `roundoff`: unit roundoff of the precision that products take their operands in. Each operand's error is taken as
/// uniform within it, that is of variance (u·x)²/3, independent of the others', and carried through the layers: Var(Σ
/// x·w) = Σ w²·(Var(x) + (u·x)²/3) + x²·(u·w)²/3. What fp32 sums add is smaller by 2⁻¹⁶. Source: Higham, Mary, "A new
/// approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41, 2019: errors of mean zero add up like
/// their standard deviations.
reference_answers reference_right(std::span<layer_values const> layers, row_table const& rows, double scale,
                                  double roundoff);

}  // namespace lull
