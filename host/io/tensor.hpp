// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lull {

/// The element type of a tensor in a file; all are little-endian.
enum class tensor_type { u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64, boolean };
inline constexpr std::array<std::string_view, 13> tensor_type_names{"U8",  "U16", "U32",  "U64", "I8",  "I16", "I32",
                                                                    "I64", "F16", "BF16", "F32", "F64", "BOOL"};

/// Returns the name in the safetensors format, such as "F32".
constexpr std::string_view name_of(tensor_type type) noexcept {
  return tensor_type_names[static_cast<std::size_t>(type)];
}
constexpr std::uint64_t element_bytes(tensor_type type) noexcept {
  constexpr std::array<std::uint64_t, tensor_type_names.size()> bytes{1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 1};
  return bytes[static_cast<std::size_t>(type)];
}

/// A tensor of a file, without its data.
struct tensor_info {
  std::string name;
  tensor_type type = tensor_type::u8;
  std::vector<std::uint64_t> shape;  // C order: the last index runs fastest; empty: one element

  std::uint64_t bytes() const noexcept {
    std::uint64_t bytes = element_bytes(type);
    for (std::uint64_t const extent : shape) bytes *= extent;
    return bytes;
  }
  bool operator==(tensor_info const&) const = default;
};

/// Returns type and shape, such as "F32 (3, 4)".
std::string format_shape(tensor_info const& tensor);

/// Returns what is wrong with name, number of dimensions or size; empty if nothing is. A name has 1 to 128 letters,
/// digits, '_', '-' and '.'. A tensor has up to 8 dimensions and up to 2^62 bytes.
std::string tensor_fault(tensor_info const& tensor);

}  // namespace lull
