// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace lull {

/// What an epoch came to.
struct epoch_result {
  double loss;      // mean over the training rows
  double accuracy;  // share of the held-out rows
};

/// An SVG of both over the epochs: loss on a logarithmic axis, accuracy on a linear one. Results that are no numbers
/// are left out.
std::string learning_curve_svg(std::span<epoch_result const> epochs);

}  // namespace lull
