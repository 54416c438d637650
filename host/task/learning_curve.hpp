// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lull {

/// How a curve's values are drawn: by powers of ten; as shares from 0 to 100 %; from 0 up, on one scale with the other
/// curve if that is linear, too.
enum class curve_axis { logarithmic, share, linear };

/// A value of each epoch.
struct epoch_curve {
  std::string_view name;
  curve_axis axis;
  std::vector<double> values;
};

/// An SVG of two curves over the epochs, the axis of the first at the left, that of the other at the right. Values that
/// are no numbers, or not above 0 on a logarithmic axis, are left out. Names and title are not escaped.
std::string learning_curve_svg(std::string_view title, epoch_curve const& left, epoch_curve const& right);

}  // namespace lull
