// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace lull {

/// Describes an array to the tensor copies of a GPU (compute capability 9.0). Opaque; device code reads it in place.
struct alignas(64) tensor_map {
  std::byte bytes[128];
};

/// (count, rows, columns) bf16 in device memory; columns are neighbours.
struct tensor_shape {
  std::uint64_t columns = 0;
  std::uint64_t rows = 0;
  std::uint64_t count = 1;
  std::uint64_t pitch = 0;  // elements from row to row, a multiple of 8
  std::uint64_t step = 0;   // elements from matrix to matrix, a multiple of 8
};

/// Returns a map for boxes of `box_rows` × 64 elements, swizzled over 128 bytes; elements outside the array read as
/// zero. `array` is 16-byte aligned, and the calling thread works on its device (device_guard, in executor.hpp). Throws
/// usage_error where there is no CUDA or the driver has no tensor maps, device_error where the driver refuses.
tensor_map map_of_boxes(void const* array, tensor_shape const& shape, std::uint32_t box_rows);

}  // namespace lull
