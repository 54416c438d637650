// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/exif_orientation.hpp>
#include <lull/tasks/images/codec/image_limits.hpp>
#include <lull/tasks/images/codec/png_orientation.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lull::detail {

unsigned png_orientation(image_file& file) {
  constexpr std::uint64_t signature_bytes = 8;
  constexpr std::uint64_t sum_bytes = 4;
  std::uint64_t place = signature_bytes;
  for (int chunks = 0; chunks < max_png_chunks; ++chunks) {
    std::array<unsigned char, 8> head{};  // length, type
    if (file.read_at(place, head.data(), head.size()) < head.size()) {
      return 1;
    }
    place += head.size();
    auto const bytes = std::uint32_t{head[0]} << 24 | std::uint32_t{head[1]} << 16 | std::uint32_t{head[2]} << 8 |
                       std::uint32_t{head[3]};
    std::string_view const type{reinterpret_cast<char const*>(head.data()) + 4, 4};
    if (type == "IEND") {
      return 1;
    }
    if (type == "eXIf" && bytes <= max_metadata_bytes) {
      std::vector<std::uint8_t> content(bytes);
      content.resize(file.read_at(place, content.data(), bytes));
      if (auto const found = exif_orientation(content); found != 1) {
        return found;
      }
    }
    place += bytes + sum_bytes;
  }
  throw input_error(file.path(), 0, "has more than the " + std::to_string(max_png_chunks) + " chunks allowed");
}

}  // namespace lull::detail
