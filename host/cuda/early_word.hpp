// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/host/executor.hpp>

namespace lull::detail {

/// The word as the current device addresses it. `here`: this process made the handle. Throws usage_error and
/// device_error.
std::uint32_t* map_early_word(early_close_handle const& of, bool here);
/// Enqueues that bubbles that look at this word close, or adds that to the stream's graph. Throws device_error.
void close_early(stream_handle stream, std::uint32_t* word);

}  // namespace lull::detail
