// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lull {

/// Returns the message of the error of that type that the function throws, or nothing.
template <class Error, class Function>
std::string message_of(Function const& function) {
  try {
    function();
  } catch (Error const& wrong) {
    return wrong.what();
  }
  return {};
}

}  // namespace lull
