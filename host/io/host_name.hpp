// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <string>

namespace lull {

/// Returns this machine's name; "unknown" where it has none.
inline std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace lull
