// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lull::bench {

/// Of a warp, in its first lane.
__device__ inline unsigned long long warp_sum(unsigned long long value) {
  for (int distance = 16; distance != 0; distance /= 2) value += __shfl_down_sync(~0U, value, distance);
  return value;
}

/// Adds the values of a block's threads to a word of the device.
__device__ inline void add_of_block(unsigned long long value, unsigned long long* word) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0 && value != 0) atomicAdd(&sum, value);
  __syncthreads();
  if (threadIdx.x == 0 && sum != 0) atomicAdd(word, sum);
}

/// The last of `count` rising values that is not above `value`; the first is not.
template <class T>
__device__ std::uint32_t last_not_above(T const* values, std::uint32_t count, T value) {
  std::uint32_t first = 0;
  std::uint32_t last = count - 1;
  while (first < last) {
    std::uint32_t const middle = first + (last - first + 1) / 2;
    if (values[middle] <= value) {
      first = middle;
    } else {
      last = middle - 1;
    }
  }
  return first;
}

}  // namespace lull::bench
