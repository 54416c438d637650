// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

namespace lull {

/// The memory of one machine on which one job works. It can go back to the driver while the job is evicted, and come
/// back with its content, because its addresses stay. Pieces that are too small to go stay (docs/6-limits.md). What a
/// thread allocates inside a `scope` belongs to it until it is released. Thread-safe.
class job_memory {
 public:
  job_memory() = default;
  job_memory(job_memory const&) = delete;
  job_memory& operator=(job_memory const&) = delete;

  /// Returns how much of the machine the movable pieces take, there or away.
  std::uint64_t bytes() const {
    std::lock_guard const lock{mutex_};
    return std::accumulate(pieces_.begin(), pieces_.end(), std::uint64_t{0}, [](std::uint64_t sum, auto const& each) {
      return sum + (each.second.can_go ? each.second.takes : 0);
    });
  }

  /// Returns whether its content could not come back. It may then only be released.
  bool is_lost() const noexcept { return is_lost_; }
  void lose() noexcept { is_lost_ = true; }

  /// While it lives, what the calling thread allocates on any machine belongs to `memory`; null: to no job. Scopes
  /// nest.
  class scope {
   public:
    explicit scope(std::shared_ptr<job_memory> memory) : before_(std::exchange(current(), std::move(memory))) {}
    ~scope() { current() = std::move(before_); }
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;

   private:
    std::shared_ptr<job_memory> before_;
  };

  // The rest is for executors and the runtime.

  /// Returns the memory to which the calling thread's allocations belong; null outside all scopes.
  static std::shared_ptr<job_memory> const& of_this_thread() { return current(); }
  struct piece {
    std::size_t bytes = 0;
    std::uint64_t takes = 0;   // of the machine, which may round up
    bool can_go = false;       // by device_memory::withdraw
    std::uint64_t number = 0;  // unique: another piece may get the addresses of one that went
    bool operator==(piece const&) const = default;
  };
  using piece_map = std::map<void*, piece>;
  void add(void* at, piece const& made) {
    std::lock_guard const lock{mutex_};
    pieces_[at] = {made.bytes, made.takes, made.can_go, ++came_};
  }
  /// Removes the piece and calls `release`. If the memory is being moved, the thread that moves it calls `release` when
  /// the move has ended. Does not wait.
  void remove(void* at, std::function<void()> release) {
    {
      std::lock_guard const lock{mutex_};
      pieces_.erase(at);
      if (moves_) {
        ends_.push_back(std::move(release));
        return;
      }
    }
    release();
  }
  piece_map pieces() const {
    std::lock_guard const lock{mutex_};
    return pieces_;
  }

  /// Keeps all present pieces from being released for its lifetime. One at a time, by one thread.
  class move {
   public:
    explicit move(job_memory& memory) : memory_(memory) {
      std::lock_guard const lock{memory_.mutex_};
      memory_.moves_ = true;
      pieces_ = memory_.pieces_;
    }
    ~move() {
      std::vector<std::function<void()>> ends;
      {
        std::lock_guard const lock{memory_.mutex_};
        memory_.moves_ = false;
        ends.swap(memory_.ends_);
      }
      for (auto const& release : ends) release();
    }
    move(move const&) = delete;
    move& operator=(move const&) = delete;
    piece_map const& pieces() const noexcept { return pieces_; }

   private:
    job_memory& memory_;
    piece_map pieces_;
  };

 private:
  static std::shared_ptr<job_memory>& current() {
    thread_local std::shared_ptr<job_memory> memory;
    return memory;
  }
  std::atomic<bool> is_lost_{false};
  mutable std::mutex mutex_;  // guards all that follows
  bool moves_ = false;
  std::uint64_t came_ = 0;
  piece_map pieces_;
  std::vector<std::function<void()>> ends_;  // of pieces that are released when the move ends
};

}  // namespace lull
