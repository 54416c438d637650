// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include <ucontext.h>

#include <lull/device/world.hpp>
#include <lull/host/threads/block.hpp>

namespace lull {

/// Runs fibers one operation at a time, in an order drawn from a seed: every operation of the simulated world is a
/// point where another fiber may go on. Sequentially consistent interleavings only: what relaxed orders add is argued
/// in the protocol's comments and tried by ThreadSanitizer. The same seed gives the same run.
class scheduler {
 public:
  explicit scheduler(std::uint64_t seed) : random_(seed) {}
  scheduler(scheduler const&) = delete;
  scheduler& operator=(scheduler const&) = delete;

  void spawn(std::function<void()> body);

  /// False: `max_steps` operations did not bring every fiber to its end, so something hangs.
  bool run(std::uint64_t max_steps);

  /// The fiber's next operation: others may come before it.
  void step();
  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t draw(std::uint64_t below) {
    return std::uniform_int_distribution<std::uint64_t>{0, below - 1}(random_);
  }

  /// Whatever the running fiber keeps for itself; null at first.
  void*& own() noexcept { return running_->own; }

  static scheduler& current() noexcept { return *current_; }

 private:
  struct fiber {
    std::function<void()> body;
    std::unique_ptr<std::byte[]> stack;
    ucontext_t context;
    void* own = nullptr;
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

/// A barrier of fibers: who waits lets the others run.
class fiber_barrier {
 public:
  explicit fiber_barrier(int fibers) noexcept : fibers_(fibers) {}

  void arrive_and_wait() {
    std::uint64_t const mine = generation_;
    if (++arrived_ == fibers_) {
      arrived_ = 0;
      ++generation_;
    }
    while (generation_ == mine) scheduler::current().step();
  }

 private:
  int const fibers_;
  int arrived_ = 0;
  std::uint64_t generation_ = 0;
};

/// A block of fibers; a barrier that is missing is missed.
using fiber_block_storage = basic_block_storage<fiber_barrier>;
using fiber_block = basic_thread_block<fiber_barrier>;

static_assert(block<fiber_block>);

}  // namespace lull
