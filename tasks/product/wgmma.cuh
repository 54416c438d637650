// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/host/tensor_map.hpp>

/// What a tile on Hopper's tensor cores needs of PTX (ISA 8.0 and later, for sm_90a): barriers in shared memory that
/// count bytes, tensor copies into it, and products of a warpgroup. Addresses in shared memory are those of its own
/// window (`window`).
namespace lull::ptx {

__device__ inline std::uint32_t window(void const* shared) noexcept {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

__device__ inline void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) noexcept {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Ends a barrier: its memory may be used otherwise from here on.
__device__ inline void barrier_end(std::uint32_t barrier) noexcept {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
/// Publishes new barriers to the tensor copies.
__device__ inline void publish_barriers() noexcept {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void arrive(std::uint32_t barrier) noexcept {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives, and makes the phase wait for so many bytes.
__device__ inline void arrive_expecting(std::uint32_t barrier, std::uint32_t bytes) noexcept {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline bool is_over(std::uint32_t barrier, std::uint32_t parity) noexcept {
  std::uint32_t over;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(over)
               : "r"(barrier), "r"(parity)
               : "memory");
  return over != 0;
}
/// Each try sleeps up to some microseconds. A copy that does not arrive in a minute never will: the device is lost.
__device__ inline void await(std::uint32_t barrier, std::uint32_t parity) noexcept {
  constexpr std::uint32_t max_tries = 1U << 26;
#pragma unroll 1
  for (std::uint32_t tries = 0; tries < max_tries; ++tries) {
    std::uint32_t over;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    if (over != 0) return;
  }
  __trap();
}

/// Publishes what other threads wrote to global memory, and this thread acquired, to its tensor copies.
__device__ inline void publish_to_copies() noexcept { asm volatile("fence.proxy.async;" ::: "memory"); }
/// Acquires a map that was written into global memory before this kernel began.
__device__ inline void acquire_map(tensor_map const* map) noexcept {
  asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}
/// Copies one box and counts its bytes at `barrier`. What lies outside of the array is zero.
__device__ inline void copy_box(std::uint32_t to, tensor_map const* map, std::uint32_t barrier, int x, int y,
                                int z) noexcept {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(to),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// Returns whether any of a warpgroup's 128 threads says so; a named barrier of the warpgroup.
__device__ inline bool any_of_warpgroup(bool says, int barrier) noexcept {
  std::uint32_t any;
  asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; bar.red.or.pred q, %2, 128, p; selp.u32 %0, 1, 0, q; }"
               : "=r"(any)
               : "r"(static_cast<std::uint32_t>(says)), "r"(barrier)
               : "memory");
  return any != 0;
}

/// A matrix in shared memory, 128-byte swizzle, in rows of 64 bf16: `group_bytes` from eight rows to the next eight,
/// `block_bytes` from 64 columns to the next 64 where these are the sides (PTX ISA, "asynchronous warpgroup level
/// matrix shared memory layout").
__device__ inline std::uint64_t matrix_in_shared(std::uint32_t at, std::uint32_t block_bytes,
                                                 std::uint32_t group_bytes) noexcept {
  constexpr std::uint64_t swizzle_128 = std::uint64_t{1} << 62;
  return (at & 0x3ffff) >> 4 | std::uint64_t{block_bytes >> 4} << 16 | std::uint64_t{group_bytes >> 4} << 32 |
         swizzle_128;
}

/// Sets the registers a thread from here on, a multiple of 8; all warps of a warpgroup call it. The block's other
/// warpgroups can take those given up. A barrier comes between the two.
template <int Registers>
__device__ inline void give_up_registers() noexcept {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ inline void take_registers() noexcept {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

/// Returns two neighbours, `low` first in memory, rounded to nearest even.
__device__ inline std::uint32_t pair_of_bf16(float low, float high) noexcept {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

__device__ inline void begin_products() noexcept { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void end_products() noexcept { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Returns when at most so many groups of products are under way.
template <int Groups>
__device__ inline void await_products() noexcept {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
}

/// d (64, 256) = a (64, 16) × b (16, 256), added to what d was if it `Keeps` that. A transposed operand has its side as
/// the minor one. Known to the compiler: of a d that is not kept nothing is live before.
template <bool Keeps, bool TransposedA, bool TransposedB>
__device__ __forceinline__ void multiply(float (&d)[128], std::uint64_t a, std::uint64_t b) noexcept {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
      "}, %128, %129, %130, 1, 1, %131, %132;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]),
        "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]),
        "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]),
        "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]),
        "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]),
        "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]),
        "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]),
        "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]),
        "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b), "n"(Keeps), "n"(TransposedA), "n"(TransposedB));
}

}  // namespace lull::ptx
