// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include <ucontext.h>

#include <lull/device/team.hpp>
#include <lull/device/world.hpp>

namespace lull {

/// Runs fibers one operation at a time, in an order drawn from a seed: every operation of the simulated world is a point
/// where another fiber may go on. Sequentially consistent interleavings only: what relaxed orders add is argued in the
/// protocol's comments and tried by ThreadSanitizer. The same seed gives the same run.
class scheduler {
 public:
  explicit scheduler(std::uint64_t seed) : random_(seed) {}
  scheduler(scheduler const&) = delete;
  scheduler& operator=(scheduler const&) = delete;

  void spawn(std::function<void()> body);

  /// False: `most_steps` operations did not bring every fiber to its end, so something hangs.
  bool run(std::uint64_t most_steps);

  /// The fiber's next operation: others may come before it.
  void step();
  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t draw(std::uint64_t below) { return std::uniform_int_distribution<std::uint64_t>{0, below - 1}(random_); }

  static scheduler& current() noexcept { return *current_; }

 private:
  struct fiber {
    std::function<void()> body;
    std::unique_ptr<std::byte[]> stack;
    ucontext_t context;
    bool over = false;
  };
  static void enter();

  static inline thread_local scheduler* current_ = nullptr;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<fiber>> fibers_;
  std::vector<fiber*> alive_;
  std::vector<fiber*> idle_;  // over; their stacks serve again
  fiber* running_ = nullptr;
  ucontext_t home_;
  std::uint64_t steps_ = 0;
  std::uint64_t burst_ = 0;
};

/// The protocol under a seeded scheduler. Ten nanoseconds an operation.
struct simulated_world {
  template <order, scope, class T>
  static T load(T& word) {
    scheduler::current().step();
    return word;
  }
  template <order, scope, class T>
  static void store(T& word, T value) {
    scheduler::current().step();
    word = value;
  }
  template <order, scope, class T>
  static T fetch_add(T& word, T value) {
    scheduler::current().step();
    T const before = word;
    word = static_cast<T>(before + value);
    return before;
  }
  template <order, scope, class T>
  static T fetch_or(T& word, T value) {
    scheduler::current().step();
    T const before = word;
    word |= value;
    return before;
  }
  template <order, scope, class T>
  static T fetch_and(T& word, T value) {
    scheduler::current().step();
    T const before = word;
    word &= value;
    return before;
  }
  template <order, scope, class T>
  static void fetch_max(T& word, T value) {
    scheduler::current().step();
    if (word < value) word = value;
  }
  template <order, scope, class T>
  static bool compare_exchange(T& word, T expected, T desired) {
    scheduler::current().step();
    if (word != expected) return false;
    word = desired;
    return true;
  }
  static std::uint64_t now_ns() { return scheduler::current().steps() * 10; }
  static void pause() { scheduler::current().step(); }
};

static_assert(world<simulated_world>);

/// What the fibers of one simulated block share.
struct fiber_block_state {
  int arrived = 0;
  std::uint64_t generation = 0;
  alignas(64) std::byte sent[2][64] = {};
  alignas(64) std::byte ranks[8][64] = {};
  alignas(64) std::byte shared[4096] = {};
  alignas(64) std::byte kept[1024] = {};
};

/// A block of fibers. A member waiting at a barrier lets the others run; a barrier that is missing is missed.
class fiber_block {
 public:
  fiber_block(fiber_block_state& state, int rank, int size, std::uint64_t blocks) noexcept
      : state_(&state), blocks_(blocks), rank_(rank), size_(size) {}

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  std::uint64_t blocks() const noexcept { return blocks_; }
  void* shared() const noexcept { return state_->shared; }
  std::uint32_t count_in(room_plan const&) const noexcept { return 0; }
  bool may_stay(room_plan const&, std::uint32_t) const noexcept { return true; }
  void count_out(room_plan const&) const noexcept {}
  void sync() const {
    if (size_ == 1) return;
    std::uint64_t const mine = state_->generation;
    if (++state_->arrived == size_) {
      state_->arrived = 0;
      ++state_->generation;
    }
    while (state_->generation == mine) scheduler::current().step();
  }
  template <class T>
  T& keep() const {
    static_assert(sizeof(T) <= sizeof state_->kept);
    return *reinterpret_cast<T*>(state_->kept);
  }
  template <class T>
  T broadcast(T value) const {
    if (size_ == 1) return value;
    std::byte* const place = state_->sent[turn_];
    turn_ ^= 1;
    if (rank_ == 0) std::memcpy(place, &value, sizeof value);
    sync();
    std::memcpy(&value, place, sizeof value);
    return value;
  }
  template <class T>
  T sum(T value) const {
    show(value);
    T all = shown<T>(0);
    for (int rank = 1; rank < size_; ++rank) all = all + shown<T>(rank);
    sync();
    return all;
  }
  template <class T, class Op>
  T exclusive_scan(T value, T first, Op op) const {
    show(value);
    for (int rank = 0; rank < rank_; ++rank) first = op(first, shown<T>(rank));
    sync();
    return first;
  }

 private:
  template <class T>
  void show(T const& value) const {
    std::memcpy(state_->ranks[rank_], &value, sizeof value);
    sync();
  }
  template <class T>
  T shown(int rank) const {
    T value;
    std::memcpy(&value, state_->ranks[rank], sizeof value);
    return value;
  }

  fiber_block_state* state_;
  std::uint64_t blocks_;
  int rank_;
  int size_;
  mutable int turn_ = 0;
};

static_assert(machine<fiber_block>);

}  // namespace lull
