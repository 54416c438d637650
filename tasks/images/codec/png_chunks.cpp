// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/exif_orientation.hpp>
#include <lull/tasks/images/codec/image_limits.hpp>
#include <lull/tasks/images/codec/png_chunks.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lull::detail {
namespace {

std::uint32_t number_at(unsigned char const* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         std::uint32_t{bytes[3]};
}

}  // namespace

png_chunks find_png_chunks(image_file& file) {
  png_chunks found;
  constexpr std::uint64_t signature_bytes = 8;
  constexpr std::uint64_t sum_bytes = 4;
  std::uint64_t place = signature_bytes;
  for (int chunks = 0; chunks < max_png_chunks; ++chunks) {
    std::array<unsigned char, 8> head{};  // length, type
    if (file.read_at(place, head.data(), head.size()) < head.size()) {
      return found;
    }
    place += head.size();
    auto const bytes = number_at(head.data());
    std::string_view const type{reinterpret_cast<char const*>(head.data()) + 4, 4};
    if (type == "IEND") {
      return found;
    }
    if (type == "acTL" && bytes >= 8) {
      std::array<unsigned char, 4> frames{};
      found.animated =
          file.read_at(place, frames.data(), frames.size()) == frames.size() && number_at(frames.data()) > 1;
    }
    if (type == "eXIf" && bytes <= max_metadata_bytes && found.orientation == 1) {
      std::vector<std::uint8_t> content(bytes);
      content.resize(file.read_at(place, content.data(), bytes));
      found.orientation = exif_orientation(content);
    }
    place += bytes + sum_bytes;
  }
  throw input_error(file.path(), 0, "has more than the " + std::to_string(max_png_chunks) + " chunks allowed");
}

}  // namespace lull::detail
