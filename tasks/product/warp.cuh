// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/async_copy.cuh>

namespace lull {

/// A warp's tensor cores and its path to shared memory, as PTX; warp_product.hpp explains the calls. What reads or
/// writes memory carries a "memory" clobber: it must not pass a barrier.
struct cuda_warp : async_copy {
  template <std::uint32_t Count, bool Transposed>
  __device__ static void load(std::uint32_t (&into)[Count], address row) noexcept {
    static_assert(Count == 2 || Count == 4);
    if constexpr (Count == 4 && Transposed) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3])
                   : "r"(row)
                   : "memory");
    } else if constexpr (Count == 4) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3])
                   : "r"(row)
                   : "memory");
    } else if constexpr (Transposed) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                   : "=r"(into[0]), "=r"(into[1])
                   : "r"(row)
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                   : "=r"(into[0]), "=r"(into[1])
                   : "r"(row)
                   : "memory");
    }
  }

  __device__ static void multiply(float (&sums)[4], std::uint32_t const (&a)[4], std::uint32_t b0,
                                  std::uint32_t b1) noexcept {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

}  // namespace lull
