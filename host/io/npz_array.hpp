// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lull {

/// What the elements of an array in an .npz file are, by NumPy's names; all little-endian. bf16, which NumPy lacks, is
/// kept as u2.
enum class npz_type { u1, u2, u4, u8, i1, i2, i4, i8, f4, f8 };
inline constexpr std::array<std::string_view, 10> npz_type_names{"u1", "u2", "u4", "u8", "i1",
                                                                 "i2", "i4", "i8", "f4", "f8"};

/// "u4"
constexpr std::string_view name_of(npz_type type) noexcept { return npz_type_names[static_cast<std::size_t>(type)]; }
constexpr std::uint64_t element_bytes(npz_type type) noexcept {
  return static_cast<std::uint64_t>(name_of(type)[1] - '0');
}

/// One array of an .npz file, without its data.
struct npz_array {
  std::string name;  // without NumPy's ending .npy
  npz_type type = npz_type::u1;
  std::vector<std::uint64_t> shape;  // C order: the last index runs fastest; empty: one element

  std::uint64_t bytes() const noexcept {
    std::uint64_t bytes = element_bytes(type);
    for (std::uint64_t const extent : shape) bytes *= extent;
    return bytes;
  }
  bool operator==(npz_array const&) const = default;
};

/// "f4 (3, 4)"
std::string format_npz_shape(npz_array const& array);

/// What is wrong with the array's name, the number of its dimensions or its size; nothing if all is well. A name has 1
/// to 128 letters, digits, '_', '-' and '.', and does not end in .npy; up to 8 dimensions; up to 2^62 bytes.
std::string npz_fault(npz_array const& array);

}  // namespace lull
