// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <lull/tasks/images/codec/image.hpp>
#include <lull/tasks/images/resize.hpp>

namespace lull {

/// Returns the logo as the task lays it over pictures, (height, width): its colours times its alpha times the opacity.
std::vector<logo_ref::pixel> weighed(image const& logo, double opacity);

/// Returns whether a grey picture under the logo would lose colours: a pixel that is not transparent is not grey.
bool has_colours(image const& logo);

}  // namespace lull
