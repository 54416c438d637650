// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/io/tensor.hpp>

namespace lull {

/// Texts by their keys, in UTF-8. The key `lull.crc32` is Lull's own.
using safetensors_metadata = std::map<std::string, std::string>;

namespace detail {

// A safetensors file has three parts: the header's length (8 bytes, little-endian); the header, JSON padded with blanks
// to a multiple of 8 bytes; the data, one tensor after the other without gaps.
//
// Lull begins each header with the metadata `lull.crc32`: the CRC-32 of the header, computed with 00000000 in this
// place, then that of each tensor's data, in the order of the data. Each has 8 hexadecimal digits; blanks are between
// them. A header that begins otherwise is another program's and has no checksums.
//
// A number of a shape or an offset may be written with a point or an exponent, if it is whole.
//
// Source of the format: https://github.com/huggingface/safetensors, README.md, "Format".

inline constexpr std::size_t length_bytes = 8;
inline constexpr std::uint64_t max_header_bytes = std::uint64_t{1} << 24;
inline constexpr std::string_view checksums_key = "lull.crc32";

struct safetensors_header {
  std::vector<tensor_info> tensors;      // in the order of their data
  safetensors_metadata metadata;         // without the checksums
  std::vector<std::uint32_t> checksums;  // (tensors,) of their data, if has_checksums
  bool has_checksums = true;             // the file is Lull's

  /// Returns the bytes of a file before its data. Needs all checksums. Bytes of the metadata that are not UTF-8 become
  /// U+FFFD.
  std::string bytes() const;
};

/// What is wrong with a header; the text follows the file's name in a message.
class header_fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Parses a header, without its length. `data_bytes` follow it in the file. Throws header_fault unless the header is
/// whole, its checksum is right, and the tensors cover that data, each byte once.
safetensors_header parse_header(std::string_view text, std::uint64_t data_bytes);

}  // namespace detail
}  // namespace lull
