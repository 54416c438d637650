// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include <lull/device/cuda_world.cuh>
#include <lull/device/team.hpp>

namespace lull {

/// A thread block of `Threads` threads, as a team's machine. Reductions and scans are CUB's; their order is fixed by
/// the number of threads alone.
template <int Threads>
class cuda_block {
 public:
  __device__ int rank() const noexcept { return static_cast<int>(threadIdx.x); }
  __device__ static constexpr int size() noexcept { return Threads; }
  __device__ std::uint64_t blocks() const noexcept { return gridDim.x; }
  __device__ void sync() const noexcept { __syncthreads(); }

  __device__ std::uint32_t count_in(sm_filter const& sms) const noexcept {
    return sms.inside != nullptr ? cuda_world::fetch_add<order::relaxed, scope::device>(sms.inside[sm_id()], 1U) : 0;
  }
  __device__ bool may_stay(sm_filter const& sms, std::uint32_t beside) const noexcept {
    return !is_kept_off(sms) && (sms.inside == nullptr || beside < sms.share);
  }
  __device__ bool may_stay_now(sm_filter const& sms) const noexcept {
    return !is_kept_off(sms) && cuda_world::load<order::relaxed, scope::device>(sms.inside[sm_id()]) <= sms.share;
  }
  __device__ void count_out(sm_filter const& sms) const noexcept {
    if (sms.inside != nullptr) cuda_world::fetch_add<order::relaxed, scope::device>(sms.inside[sm_id()], ~0U);
  }

  __device__ void await_launch_order() const noexcept { ptx::await_launch_order(); }

  /// Returns the launch's dynamic shared memory: shape.shared_bytes.
  __device__ void* shared() const noexcept {
    extern __shared__ __align__(16) unsigned char lull_team_storage[];
    return lull_team_storage;
  }

  template <class T>
  __device__ T& keep() const noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    __shared__ alignas(alignof(T)) unsigned char kept[sizeof(T)];
    return *reinterpret_cast<T*>(kept);
  }

  /// Two places in turn: no thread can write a place again before all have passed the barrier of the other.
  template <class T>
  __device__ T broadcast(T value) const noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    __shared__ T places[2];
    T& place = places[turn_];
    turn_ ^= 1;
    if (threadIdx.x == 0) place = value;
    __syncthreads();
    return place;
  }

  template <class T>
  __device__ T sum(T value) const noexcept {
    using reduce = cub::BlockReduce<T, Threads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
    __shared__ typename reduce::TempStorage storage;
    return broadcast(reduce{storage}.Sum(value));
  }

  /// Two places in turn, as above: CUB's warp scans write a place before their one barrier and read it only after that.
  template <class T, class Op>
  __device__ T exclusive_scan(T value, T first, Op op) const noexcept {
    using scan = cub::BlockScan<T, Threads, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename scan::TempStorage places[2];
    auto& place = places[turn_];
    turn_ ^= 1;
    T result;
    scan{place}.ExclusiveScan(value, result, first, op);
    return result;
  }

 private:
  __device__ static bool is_kept_off(sm_filter const& sms) noexcept {
    std::uint32_t const sm = sm_id();
    return sm < 256 && (sms.kept_off[sm / 32] >> (sm % 32) & 1U) != 0;
  }
  __device__ static std::uint32_t sm_id() noexcept {
    std::uint32_t id;
    asm volatile("mov.u32 %0, %smid;" : "=r"(id));
    return id;
  }

  mutable int turn_ = 0;
};

}  // namespace lull
