// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/host/executor.hpp>

namespace lull::detail {

/// A word that is zero, until it is given back. `process` of its handle is not set.
early_word take_early_word_on_threads();
void give_back_early_word(std::uint32_t* word) noexcept;
/// Enqueues that bubbles that look at this word close.
void close_early_on_threads(stream_handle stream, std::uint32_t* word);

}  // namespace lull::detail
