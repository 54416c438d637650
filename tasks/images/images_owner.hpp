// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// "images": resizes the pictures of a folder and lays a logo over them.
task_entry images_entry();

}  // namespace lull
