// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lull {

/// Continues a CRC-32 (IEEE 802.3), which is 0 for no bytes.
std::uint32_t crc32_of(std::uint32_t before, std::span<std::byte const> bytes) noexcept;

}  // namespace lull
