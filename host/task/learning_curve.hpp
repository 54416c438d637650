// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lull {

/// How a curve's values are drawn: by powers of ten; as shares from 0 to 100 %; from 0 up, on a common scale if both
/// curves are linear.
enum class curve_axis { logarithmic, share, linear };

/// One value for each epoch.
struct epoch_curve {
  std::string_view name;
  curve_axis axis;
  std::vector<double> values;
};

/// Returns an SVG of two curves over the epochs, with the axis of the first on the left and that of the other on the
/// right. Leaves out NaN and infinite values, and those not above 0 on a logarithmic axis. Names and title are not
/// escaped.
std::string learning_curve_svg(std::string_view title, epoch_curve const& left, epoch_curve const& right);

}  // namespace lull
