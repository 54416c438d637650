// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/crc32.hpp>

#include <zlib.h>

namespace lull {

std::uint32_t crc32_of(std::uint32_t before, std::span<std::byte const> bytes) noexcept {
  // zlib takes a null pointer as a request for the initial value, so an empty span must not reach it.
  if (bytes.empty()) return before;
  return static_cast<std::uint32_t>(::crc32_z(before, reinterpret_cast<Bytef const*>(bytes.data()), bytes.size()));
}

}  // namespace lull
