// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lull {

/// What the leader tells its team to do next. `finish`: run, and commit without delay. `advance`: run the task's
/// `advance` between two phases.
enum class action : std::uint32_t { leave, run, finish, advance };

/// What all threads of a team read at every chunk. It is small; the phase is elsewhere (claimer::at).
struct alignas(16) directive {
  std::uint64_t begin = 0;
  std::uint32_t count = 0;  // items; 0 where there is no chunk
  action what = action::leave;
};

}  // namespace lull
