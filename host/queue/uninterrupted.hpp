// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

namespace lull::queue {

/// Makes a system call again for as long as signals interrupt it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace lull::queue
