// SPDX-License-Identifier: Apache-2.0
// Replaces wgmma.cuh where the tiles' code for tensor cores runs under a seeded scheduler, with lane 0 of each warp for
// all 32. Barriers count phases and bytes. Copies arrive in any order, some time after they were begun. Products read
// their operands only when they are waited for. Source: PTX ISA 9.0, mbarrier, cp.async.bulk.tensor, wgmma.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <lull/host/tensor_map.hpp>
#include <lull/tasks/product/large_product.hpp>
#include <lull/tests/support/simulated.hpp>

#define __device__
#define __forceinline__ inline
#define threadIdx (::lull::hopper_lane::current().index)

namespace lull {

/// Machines that break a promise on which the tiles rely: a test must detect each of them.
enum class hopper_fault { none, counts_bytes_before_they_land, ends_waits_for_products_early };

/// What is copied for one operand of a step: from where, and from which version of the operands.
struct hopper_box {
  int x = -1;
  int y = -1;
  int z = -1;
  std::uint32_t version = 0;
};

/// Returns a whole number below 4,096 for the product of two boxes: sums of some thousands are exact.
inline float hopper_term(std::uint32_t version, int count, int row, int column, int k) noexcept {
  std::uint64_t bits = version * 0x9e3779b97f4a7c15ULL;
  for (int const each : {count, row, column, k})
    bits = (bits ^ static_cast<std::uint64_t>(each)) * 0xbf58476d1ce4e5b9ULL ^ bits >> 29;
  return static_cast<float>(bits >> 40 & 0xfff);
}

/// Shared memory and copies of one block.
class hopper_block {
 public:
  static constexpr int lanes = large_tiles::shape.threads / 32;

  hopper_block(hopper_fault fault, std::uint32_t const& version) : fault_(fault), version_(version) {}

  /// Returns the first promise of the machine that the tiles broke, or nothing.
  char const* wrong() const noexcept { return wrong_; }
  void expect(bool holds, char const* otherwise) noexcept {
    if (!holds && wrong_ == nullptr) wrong_ = otherwise;
  }

  /// Completes copies until all lanes are out; runs in its own fiber.
  void copy() {
    while (lanes_out != lanes) {
      scheduler::current().step();
      if (!copies_.empty() && scheduler::current().draw(3) == 0) land();
    }
    expect(copies_.empty(), "a copy lands in the storage of a block that is gone");
  }

  void make(std::uint32_t at, std::uint32_t arrivals) {
    expect(!barriers_[at].live, "a barrier is made where one is");
    barriers_[at] = {true, arrivals, arrivals, 0, 0};
  }
  void end(std::uint32_t at) {
    expect(barriers_[at].live && barriers_[at].bytes == 0, "a barrier ends before its bytes are there");
    barriers_[at].live = false;
  }
  void arrive(std::uint32_t at, std::uint32_t bytes) {
    barrier& one = live(at);
    expect(one.pending != 0, "more arrive at a barrier than it waits for");
    one.bytes += bytes;
    --one.pending;
    pass(one);
  }
  bool is_over(std::uint32_t at, std::uint32_t parity) { return (live(at).phases & 1) != (parity & 1); }

  void begin_copy(std::uint32_t to, std::uint32_t at, hopper_box from, std::uint32_t bytes) {
    copies_.push_back({to, at, bytes, from});
    if (fault_ != hopper_fault::counts_bytes_before_they_land) return;
    live(at).bytes -= bytes;
    pass(live(at));
  }
  hopper_box const& box(std::uint32_t at) const { return *reinterpret_cast<hopper_box const*>(base + at); }

  bool any(int group, bool says, bool first, std::uint32_t& turn) {
    bool& vote = votes_[group][turn ^= 1];
    vote = vote || says;
    groups_[group].arrive_and_wait();
    bool const found = vote;
    groups_[group].arrive_and_wait();
    if (first) vote = false;  // the others are at the other vote meanwhile
    return found;
  }

  hopper_fault fault() const noexcept { return fault_; }

  unsigned char* base = nullptr;  // of the team's storage
  int lanes_out = 0;

 private:
  struct barrier {
    bool live = false;
    std::uint32_t arrivals = 0;
    std::uint32_t pending = 0;
    std::int64_t bytes = 0;
    std::uint64_t phases = 0;
  };
  struct begun_copy {
    std::uint32_t to;
    std::uint32_t barrier;
    std::uint32_t bytes;
    hopper_box from;
  };

  barrier& live(std::uint32_t at) {
    expect(barriers_[at].live, "a barrier is used that is none");
    return barriers_[at];
  }
  static void pass(barrier& one) {
    if (one.pending != 0 || one.bytes != 0) return;
    ++one.phases;
    one.pending = one.arrivals;
  }
  void land() {
    std::swap(copies_[scheduler::current().draw(copies_.size())], copies_.back());
    begun_copy const one = copies_.back();
    copies_.pop_back();
    auto& to = *reinterpret_cast<hopper_box*>(base + one.to);
    to = one.from;
    to.version = version_;
    if (fault_ == hopper_fault::counts_bytes_before_they_land) return;
    live(one.barrier).bytes -= one.bytes;
    pass(live(one.barrier));
  }

  hopper_fault const fault_;
  std::uint32_t const& version_;
  char const* wrong_ = nullptr;
  std::map<std::uint32_t, barrier> barriers_;  // by their place in the storage
  std::vector<begun_copy> copies_;
  bool votes_[2][2] = {};
  fiber_barrier groups_[2]{fiber_barrier{4}, fiber_barrier{4}};
};

/// One of a block's lanes, and its products under way.
struct hopper_lane {
  struct product {
    float* sums;
    bool keeps;
    std::uint32_t a;
    std::uint32_t b;
  };
  struct {
    std::uint32_t x;
  } index;
  hopper_block* block;
  std::uint32_t turn = 0;  // of votes
  std::vector<product> begun = {};
  std::vector<std::vector<product>> groups = {};

  static hopper_lane& current() noexcept { return *static_cast<hopper_lane*>(scheduler::current().own()); }

  void multiply(product const& one) const {
    std::uint32_t const stage = one.a / large_tiles::stage_bytes * large_tiles::stage_bytes;
    std::uint32_t const second = stage + large_tiles::rows * large_tiles::depth * 2;
    std::uint32_t const half = large_tiles::rows / 2 * large_tiles::depth * 2;
    bool const first_of_step = one.a == stage + (index.x / 128 - 1) * half;  // one product of a step's stands for all
    float term = 0;
    if (first_of_step) {
      hopper_box const& a = block->box(stage);
      hopper_box const& b = block->box(second);
      block->expect(one.b == second, "the operands of a product are of two stages");
      block->expect(a.x == b.x && a.z == b.z && a.version == b.version, "the operands of a product are of two steps");
      term = hopper_term(a.version, a.z, a.y, b.y, a.x);
    }
    for (int i = 0; i < 128; ++i) one.sums[i] = (one.keeps ? one.sums[i] : 0) + term;
  }
};

namespace ptx {

inline hopper_lane& lane() noexcept { return hopper_lane::current(); }
inline void step() { scheduler::current().step(); }

inline std::uint32_t window(void const* shared) noexcept {
  return static_cast<std::uint32_t>(static_cast<unsigned char const*>(shared) - lane().block->base);
}
inline void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) { lane().block->make(barrier, arrivals); }
inline void barrier_end(std::uint32_t barrier) { lane().block->end(barrier); }
inline void publish_barriers() noexcept {}
inline void arrive_expecting(std::uint32_t barrier, std::uint32_t bytes) {
  step();
  lane().block->arrive(barrier, bytes);
}
inline void arrive(std::uint32_t barrier) { arrive_expecting(barrier, 0); }
inline bool is_over(std::uint32_t barrier, std::uint32_t parity) {
  step();
  return lane().block->is_over(barrier, parity);
}
inline void await(std::uint32_t barrier, std::uint32_t parity) {
  while (!is_over(barrier, parity)) {
  }
}
inline void publish_to_copies() noexcept {}
inline void acquire_map(tensor_map const*) noexcept {}
/// For operands whose depth is minor; the first map of a pair is the left one's.
inline void copy_box(std::uint32_t to, tensor_map const* map, std::uint32_t barrier, int x, int y, int z) {
  step();
  bool const left = reinterpret_cast<std::uintptr_t>(map) / sizeof(tensor_map) % 2 == 0;
  lane().block->begin_copy(to, barrier, {x, y, z, 0},
                           (left ? large_tiles::rows : large_tiles::columns) * large_tiles::depth * 2);
}
inline bool any_of_warpgroup(bool says, int barrier) {
  return lane().block->any(barrier - 2, says, lane().index.x % 128 == 0, lane().turn);
}
inline std::uint64_t matrix_in_shared(std::uint32_t at, std::uint32_t, std::uint32_t) noexcept { return at / 16; }
template <int>
void give_up_registers() noexcept {}
template <int>
void take_registers() noexcept {}
inline std::uint32_t pair_of_bf16(float, float) noexcept { return 0; }
inline void begin_products() noexcept {}
inline void end_products() { lane().groups.push_back(std::exchange(lane().begun, {})); }
template <int Groups>
void await_products() {
  step();
  bool const early = Groups != 0 && lane().block->fault() == hopper_fault::ends_waits_for_products_early;
  for (auto& groups = lane().groups; groups.size() > Groups + (early ? 1 : 0); groups.erase(groups.begin())) {
    for (hopper_lane::product const& one : groups.front()) lane().multiply(one);
  }
}
template <bool Keeps, bool TransposedA, bool TransposedB>
void multiply(float (&sums)[128], std::uint64_t a, std::uint64_t b) {
  lane().begun.push_back({sums, Keeps, static_cast<std::uint32_t>(a * 16), static_cast<std::uint32_t>(b * 16)});
}

}  // namespace ptx

// CUDA's own types.
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
struct uint4 {
  std::uint32_t x, y, z, w;
};
inline float2 make_float2(float x, float y) noexcept { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) noexcept { return {x, y, z, w}; }
inline uint4 make_uint4(std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t w) noexcept {
  return {x, y, z, w};
}
inline std::uint32_t __shfl_xor_sync(unsigned, std::uint32_t value, int) noexcept { return value; }
inline void __syncwarp() { scheduler::current().step(); }

}  // namespace lull
