// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lull::detail {

/// Forks between the process that asked first and this one. What was made at another count belongs to a parent: a child
/// has none of its threads, its locks may be held for ever, and CUDA does not work in it. Takes no lock.
std::uint64_t forks_now() noexcept;

}  // namespace lull::detail
