// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <lull/tasks/product/bfloat16.hpp>
#include <lull/tasks/product/matrix.hpp>

namespace lull::test {

struct manual_warp;

/// Threads that replace those of a block on a GPU, in warps of 32.
class manual_block {
 public:
  explicit manual_block(std::uint64_t leaves_at = 0) : leaves_at_(leaves_at), all_(product_threads) {
    for (auto& each : warps_) each = std::make_unique<one_warp>();
    for (auto& each : storage_) each = std::byte{0x7f};  // bf16 and fp32 numbers so large that they show
  }

  struct one_warp {
    std::barrier<> barrier{32};
    std::uintptr_t rows[32];
    std::uint32_t a[32][4];
    std::uint32_t b[32][2];
    std::uint64_t conflicts = 0;  // rows of a matrix that met another's in a bank; counted by lane 0
  };

  /// One of its threads, as a team.
  struct member {
    using warp = manual_warp;
    manual_block* block;
    int at;
    int rank() const noexcept { return at; }
    static constexpr int size() noexcept { return product_threads; }
    void sync() const noexcept { block->all_.arrive_and_wait(); }
    void* shared() const noexcept { return block->storage_; }
    template <class T>
    T sum(T value) const noexcept {
      static_assert(sizeof(T) <= sizeof block->values_[0]);
      std::memcpy(block->values_[at], &value, sizeof value);
      sync();
      T all{};
      for (auto const& each : block->values_) {
        std::memcpy(&value, each, sizeof value);
        all = all + value;
      }
      sync();
      return all;
    }
    bool leaving() const noexcept {
      if (at == 0) block->polls_ += 1;
      sync();
      bool const leaves = block->polls_ == block->leaves_at_;
      sync();
      return leaves;
    }
  };

  void run(std::function<void(member const&)> const& work) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < product_threads; ++rank) {
      threads.emplace_back([&, rank] {
        mine = warps_[rank / 32].get();
        lane = rank % 32;
        work(member{this, rank});
      });
    }
  }
  std::uint64_t polls() const noexcept { return polls_; }
  std::uint64_t conflicts() const noexcept {
    std::uint64_t all = 0;
    for (auto const& each : warps_) all += each->conflicts;
    return all;
  }

  static inline thread_local one_warp* mine = nullptr;
  static inline thread_local int lane = 0;

 private:
  std::uint64_t const leaves_at_;
  std::uint64_t polls_ = 0;
  std::barrier<> all_;
  std::unique_ptr<one_warp> warps_[product_threads / 32];
  std::byte values_[product_threads][8];
  alignas(128) std::byte storage_[product_storage_bytes];
};

/// What warp_product.hpp asks of a warp, lane by lane as the PTX ISA says. A copy is done only when it is waited for.
struct manual_warp {
  using address = std::uintptr_t;

  static address address_of(void* storage) noexcept { return reinterpret_cast<address>(storage); }

  static void fetch(address to, void const* from, bool there) {
    begun().push_back({to, there ? from : nullptr, groups()});
  }
  static void end_group() noexcept { ++groups(); }
  template <int Left>
  static void await_groups() {
    std::erase_if(begun(), [](copy const& each) {
      if (each.group + Left >= groups()) return false;
      if (each.from != nullptr)
        std::memcpy(reinterpret_cast<void*>(each.to), each.from, 16);
      else
        std::memset(reinterpret_cast<void*>(each.to), 0, 16);
      return true;
    });
  }

  template <std::uint32_t Count, bool Transposed>
  static void load(std::uint32_t (&into)[Count], address row) noexcept {
    auto& warp = *manual_block::mine;
    int const lane = manual_block::lane;
    warp.rows[lane] = row;
    warp.barrier.arrive_and_wait();
    for (int i = 0; lane == 0 && i < static_cast<int>(Count) * 8;
         ++i) {  // eight rows of 16 bytes fill the 32 banks once
      for (int other = i / 8 * 8; other < i; ++other)
        warp.conflicts += warp.rows[i] / 16 % 8 == warp.rows[other] / 16 % 8 ? 1 : 0;
    }
    for (std::uint32_t i = 0; i < Count; ++i) {
      std::uint16_t pair[2];
      for (int element = 0; element < 2; ++element) {
        int const of_row = Transposed ? lane % 4 * 2 + element : lane / 4;
        int const of_column = Transposed ? lane / 4 : lane % 4 * 2 + element;
        std::memcpy(
            &pair[element],
            reinterpret_cast<std::uint16_t const*>(warp.rows[i * 8 + static_cast<std::uint32_t>(of_row)]) + of_column,
            2);
      }
      into[i] = pair[0] | std::uint32_t{pair[1]} << 16;
    }
    warp.barrier.arrive_and_wait();
  }

  static void multiply(float (&sums)[4], std::uint32_t const (&a)[4], std::uint32_t b0, std::uint32_t b1) noexcept {
    auto& warp = *manual_block::mine;
    int const lane = manual_block::lane;
    std::memcpy(warp.a[lane], a, sizeof a);
    warp.b[lane][0] = b0;
    warp.b[lane][1] = b1;
    warp.barrier.arrive_and_wait();
    for (int i = 0; i < 4; ++i) {
      int const row = lane / 4 + i / 2 * 8;
      int const column = lane % 4 * 2 + i % 2;
      for (int k = 0; k < 16; ++k) {
        std::uint32_t const left = warp.a[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2];
        std::uint32_t const right = warp.b[column * 4 + k % 8 / 2][k / 8];
        sums[i] += number(left, k % 2) * number(right, k % 2);
      }
    }
    warp.barrier.arrive_and_wait();
  }

 private:
  struct copy {
    address to;
    void const* from;
    int group;
  };
  static std::vector<copy>& begun() {
    static thread_local std::vector<copy> all;
    return all;
  }
  static int& groups() noexcept {
    static thread_local int count = 0;
    return count;
  }
  static float number(std::uint32_t pair, int which) noexcept {
    return std::bit_cast<float>(which == 0 ? pair << 16 : pair & 0xffff0000U);
  }
};

}  // namespace lull::test
