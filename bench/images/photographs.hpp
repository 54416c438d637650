// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/tasks/images/codec/image.hpp>

namespace lull::bench {

/// The shipped photograph in another size, 1 channel or 3 of 8 bits, moved round by `seed` and with noise of its own:
/// files and caches find nothing in common between two, and no device computes on zeros, which would draw less power.
image photograph(std::uint32_t width, std::uint32_t height, std::uint8_t channels, std::uint64_t seed);

}  // namespace lull::bench
