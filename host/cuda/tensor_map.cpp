// SPDX-License-Identifier: Apache-2.0
#include <lull/host/tensor_map.hpp>

#include <cstring>

#include <lull/host/cuda/driver.hpp>
#include <lull/host/error.hpp>

namespace lull {

tensor_map map_of_boxes(void const* array, tensor_shape const& shape, std::uint32_t box_rows) {
  if (driver().encode_tensor_map == nullptr)
    throw usage_error{"the CUDA driver knows no tensor maps: install driver 525 or later"};
  constexpr std::uint32_t box_columns = 64;
  constexpr cuuint64_t element = 2;
  cuuint64_t const extents[] = {shape.columns, shape.rows, shape.count};
  cuuint64_t const strides[] = {shape.pitch * element,
                                (shape.count > 1 ? shape.step : shape.pitch * shape.rows) * element};
  cuuint32_t const box[] = {box_columns, box_rows, 1};
  cuuint32_t const every[] = {1, 1, 1};
  CUtensorMap made;
  LULL_DRIVER(driver().encode_tensor_map(&made, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<void*>(array), extents,
                                         strides, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                         CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  tensor_map map;
  static_assert(sizeof map == sizeof made);
  std::memcpy(&map, &made, sizeof map);
  return map;
}

}  // namespace lull
