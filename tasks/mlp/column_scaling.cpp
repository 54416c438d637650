// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/column_scaling.hpp>

#include <cmath>

namespace lull {

column_scaling scaling_of(row_table const& rows, std::size_t features) {
  std::size_t const count = rows.values.size() / features;
  std::vector<double> sums(features);
  std::vector<double> squares(features);
  for (std::size_t at = 0; at < rows.values.size(); ++at) sums[at % features] += static_cast<double>(rows.values[at]);
  for (double& each : sums) each /= static_cast<double>(count);
  for (std::size_t at = 0; at < rows.values.size(); ++at)  // from the means: a large mean would hide a small deviation
    squares[at % features] += std::pow(static_cast<double>(rows.values[at]) - sums[at % features], 2);
  column_scaling made;
  for (std::size_t column = 0; column < features; ++column) {
    double const deviation = std::sqrt(squares[column] / static_cast<double>(count));
    auto const factor = static_cast<float>(1 / deviation);
    made.shift.push_back(static_cast<float>(sums[column]));
    made.factor.push_back(deviation > 0 && std::isfinite(factor) ? factor : 0);
  }
  return made;
}

void apply(column_scaling const& scaling, row_table& rows) {
  std::size_t const features = scaling.shift.size();
  for (std::size_t at = 0; features != 0 && at < rows.values.size(); ++at)
    rows.values[at] = (rows.values[at] - scaling.shift[at % features]) * scaling.factor[at % features];
}

}  // namespace lull
