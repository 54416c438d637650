// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/tasks/images/codec/image.hpp>

namespace lull {

/// Returns the similarity of two images of one shape: peak signal-to-noise ratio over all channels, in dB; infinite if
/// equal. Errors: usage_error if the shapes differ, or there is no pixel.
double psnr(image const& left, image const& right);

}  // namespace lull
