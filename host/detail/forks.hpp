// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lull::detail {

/// Returns the number of forks between the first process that asked and this one. An object made at another count
/// belongs to a parent: the child has none of its threads, its locks may be held for ever, and CUDA does not work in
/// the child. Takes no lock.
std::uint64_t forks_now() noexcept;

}  // namespace lull::detail
