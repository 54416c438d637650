// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include <lull/device/team.hpp>

namespace lull {

/// What the threads of one block share. `Barrier` is made for that many threads, and has `arrive_and_wait()`.
template <class Barrier>
class basic_block_storage {
 public:
  static constexpr int max_threads = 64;
  static constexpr std::size_t max_kept_bytes = 1024;
  static constexpr std::size_t max_value_bytes = 64;  // of one broadcast or collective value

  /// `shared_bytes` as the task's shape says.
  basic_block_storage(int threads, std::size_t shared_bytes)
      : barrier_(threads), shared_(new(std::align_val_t{64}) std::byte[shared_bytes + 1]) {}

 private:
  template <class>
  friend class basic_thread_block;
  struct aligned_delete {
    void operator()(std::byte* bytes) const noexcept { ::operator delete[](bytes, std::align_val_t{64}); }
  };
  struct alignas(64) value_bytes {
    std::byte bytes[max_value_bytes];
  };

  Barrier barrier_;
  std::unique_ptr<std::byte[], aligned_delete> shared_;
  value_bytes sent_[2];
  alignas(64) std::byte kept_[max_kept_bytes];
  value_bytes ranks_[max_threads];
};

/// A block on a CPU, as one of its threads sees it: one thread for speed, four in tests, so that a missing barrier
/// shows.
template <class Barrier>
class basic_thread_block {
 public:
  using storage = basic_block_storage<Barrier>;

  basic_thread_block(storage& shared, int rank, int size, std::uint64_t blocks) noexcept
      : storage_(&shared), blocks_(blocks), rank_(rank), size_(size) {}

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  std::uint64_t blocks() const noexcept { return blocks_; }
  void* shared() const noexcept { return storage_->shared_.get(); }

  std::uint32_t count_in(sm_filter const&) const noexcept { return 0; }
  bool may_stay(sm_filter const&, std::uint32_t) const noexcept { return true; }
  bool may_stay_now(sm_filter const&) const noexcept { return true; }
  void count_out(sm_filter const&) const noexcept {}
  void await_launch_order() const noexcept {}

  void sync() const noexcept {
    if (size_ > 1) storage_->barrier_.arrive_and_wait();
  }

  template <class T>
  T& keep() const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= storage::max_kept_bytes);
    return *reinterpret_cast<T*>(storage_->kept_);
  }

  /// Two places in turn: no thread can write a place again before all have passed the barrier of the other.
  template <class T>
  T broadcast(T value) const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= storage::max_value_bytes);
    if (size_ == 1) return value;
    std::byte* const place = storage_->sent_[turn_].bytes;
    turn_ ^= 1;
    if (rank_ == 0) std::memcpy(place, &value, sizeof value);
    sync();
    std::memcpy(&value, place, sizeof value);
    return value;
  }

  template <class T>
  T sum(T value) const noexcept {
    if (size_ == 1) return value;
    show(value);
    T all = shown<T>(0);
    for (int rank = 1; rank < size_; ++rank) all = all + shown<T>(rank);
    sync();  // before a thread writes ranks_ again
    return all;
  }

  template <class T, class Op>
  T exclusive_scan(T value, T first, Op op) const noexcept {
    if (size_ == 1) return first;
    show(value);
    for (int rank = 0; rank < rank_; ++rank) first = op(first, shown<T>(rank));
    sync();
    return first;
  }

 private:
  /// Collective. Gives the value to all.
  template <class T>
  void show(T const& value) const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= storage::max_value_bytes);
    std::memcpy(storage_->ranks_[rank_].bytes, &value, sizeof value);
    sync();
  }
  template <class T>
  T shown(int rank) const noexcept {
    T value;
    std::memcpy(&value, storage_->ranks_[rank].bytes, sizeof value);
    return value;
  }

  storage* storage_;
  std::uint64_t blocks_;
  int rank_;
  int size_;
  mutable int turn_ = 0;
};

using block_storage = basic_block_storage<std::barrier<>>;
using thread_block = basic_thread_block<std::barrier<>>;

static_assert(block<thread_block>);

}  // namespace lull
