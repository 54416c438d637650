// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lull::test {

/// Returns the content of an APP1 with this orientation.
inline std::string exif(unsigned orientation, bool little = false) {
  using namespace std::string_literals;
  auto const number = static_cast<char>(orientation);
  return little ? "Exif\0\0II\x2a\0\x08\0\0\0\x02\0\x0f\x01\x02\0\x01\0\0\0A\0\0\0\x12\x01\x03\0\x01\0\0\0"s + number +
                      "\0\0\0\0\0\0\0"s
                : "Exif\0\0MM\0\x2a\0\0\0\x08\0\x02\x01\x0f\0\x02\0\0\0\x01"
                  "A\0\0\0\x01\x12\0\x03\0\0\0\x01\0"s +
                      number + "\0\0\0\0\0\0"s;
}

/// A number of `bytes` bytes, or several of them, in the order of a TIFF.
struct raw_number {
  bool little = false;
  std::string operator()(std::uint64_t value, int bytes) const {
    std::string made;
    for (int at = 0; at < bytes; ++at) {
      made += static_cast<char>(value >> 8 * (little ? at : bytes - 1 - at));
    }
    return made;
  }
};

/// Returns a TIFF whose only tag is the orientation, with these bytes as its value: more than 4 follow the directory.
inline std::string tiff(raw_number const& number, unsigned type, std::uint32_t count, std::string const& value) {
  constexpr unsigned directory_end = 8 + 2 + 12 + 4;
  auto made = (number.little ? "II" : "MM") + number(42, 2) + number(8, 4) + number(1, 2) + number(0x0112, 2) +
              number(type, 2) + number(count, 4);
  made += value.size() > 4 ? number(directory_end, 4) : value + std::string(4 - value.size(), '\0');
  return made + number(0, 4) + (value.size() > 4 ? value : "");
}

}  // namespace lull::test
