// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <lull/tasks/mlp/mlp_arrays.hpp>

namespace lull {

/// How each column of numbers becomes one of mean 0 and standard deviation 1: (value - shift) * factor. Empty: not at
/// all.
struct column_scaling {
  std::vector<float> shift;   // (features,)
  std::vector<float> factor;  // (features,) 0 for a column of one value, which tells nothing
};

/// Returns the scaling that the rows ask for.
column_scaling scaling_of(row_table const& rows, std::size_t features);

void apply(column_scaling const& scaling, row_table& rows);

}  // namespace lull
