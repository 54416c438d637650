// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <lull/host/error.hpp>
#include <lull/tasks/images/psnr.hpp>
#include <lull/tasks/images/samples.hpp>

namespace lull {

double psnr(image const& left, image const& right) {
  auto const& shape = left.shape;
  if (shape != right.shape || shape.bytes() == 0) {
    throw usage_error("psnr: two images of one shape, with pixels, can be compared");
  }
  auto const count = std::size_t{shape.width} * shape.height * shape.channels;
  double squares = 0;
  for (std::size_t index = 0; index < count; ++index) {
    double const off = static_cast<double>(detail::sample(left, index)) - detail::sample(right, index);
    squares += off * off;
  }
  if (squares == 0) {
    return std::numeric_limits<double>::infinity();
  }
  double const largest = shape.largest();
  return 10 * std::log10(largest * largest * static_cast<double>(count) / squares);
}

}  // namespace lull
