// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <lull/host/executor.hpp>

namespace lull::detail {

/// A word of the current device's, in memory that other processes can map. The first call on a device allocates, which
/// may wait for it, and has `zero` fill the memory. `process` of the handle is not set. The memory stays until the
/// process ends: a peer's stream may write to it at any time. Throws limit_error and device_error.
early_word take_early_word_on(int device, std::function<void(void*, std::size_t)> const& zero);
void give_back_early_word_on(int device, std::uint32_t* word) noexcept;

}  // namespace lull::detail
