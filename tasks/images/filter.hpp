// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <lull/tasks/images/image_work.hpp>
#include <lull/tasks/images/resize.hpp>

namespace lull {

/// Returns the taps of an axis for `to` samples made of `from`; both at least 1. Pixels are areas, centred alike on
/// both grids. What would lie beyond the edge has no weight, and the rest sums up to 1. Appends to `weights`.
std::vector<taps> taps_of(image_filter filter, std::uint32_t from, std::uint32_t to, std::vector<float>& weights);

/// Returns at least the most taps of one sample.
std::uint32_t max_taps(image_filter filter, std::uint32_t from, std::uint32_t to) noexcept;

/// Returns the most samples that any `together` neighbours use, if the first of them is at a multiple of `together`.
/// Counts them.
std::uint32_t max_shared_taps(image_filter filter, std::uint32_t from, std::uint32_t to,
                              std::uint32_t together) noexcept;

}  // namespace lull
