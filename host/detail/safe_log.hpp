// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <utility>

namespace lull::detail {

using log_function = std::function<void(std::string_view)>;

/// Of a callback that may throw: it is called on our threads, and inside calls that do not throw.
inline log_function that_does_not_throw(log_function given) {
  if (!given) return given;
  return [given = std::move(given)](std::string_view line) {
    try {
      given(line);
    } catch (...) {  // there is nobody to tell
    }
  };
}

}  // namespace lull::detail
