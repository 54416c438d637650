// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <lull/host/detail/forks.hpp>
#include <lull/host/error.hpp>

namespace lull::c {

/// The objects of one kind that C programs hold by handle. A handle is a number that is never given out twice, so that
/// one whose object is gone, of another kind or made up is told from a live one without touching memory that is not
/// ours.
///
/// A slot's word: users (23 bits), one bit while somebody ends the object, generation (40 bits).
template <class Object, std::uint64_t Kind, std::size_t Capacity>
class handle_table {
  static_assert(Kind != 0 && Kind < 256 && Capacity <= 65'536);
  static constexpr std::uint64_t user = 1;
  static constexpr std::uint64_t users = (std::uint64_t{1} << 23) - 1;
  static constexpr std::uint64_t ending_bit = std::uint64_t{1} << 23;
  static constexpr std::uint64_t generation = std::uint64_t{1} << 24;

  struct slot {
    std::atomic<std::uint64_t> word{0};
    std::atomic<Object*> object{nullptr};
    std::atomic<std::uint64_t> forks{0};  // 1 + those of the process that inserted here last; 0: none did
  };

 public:
  /// While it lives, the object does. Empty for a handle that is not alive.
  class pin {
   public:
    pin(pin&& other) noexcept : slot_(other.slot_), object_(std::exchange(other.object_, nullptr)) {}
    pin& operator=(pin&&) = delete;
    ~pin() { let_go(); }
    void let_go() noexcept {
      if (std::exchange(object_, nullptr) != nullptr)
        slot_->word.fetch_sub(user, std::memory_order_release);  // to who ends it
    }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    Object* operator->() const noexcept { return object_; }
    Object& operator*() const noexcept { return *object_; }
    /// Somebody wants to end the object and waits for this pin.
    bool ending() const noexcept { return (slot_->word.load(std::memory_order_relaxed) & ending_bit) != 0; }

   private:
    friend class handle_table;
    pin(slot* at, Object* object) noexcept : slot_(at), object_(object) {}
    slot* slot_;
    Object* object_;
  };

  /// The object with nobody else inside: to be taken, else it goes on as before.
  class exclusive {
   public:
    exclusive(exclusive&& other) noexcept
        : slot_(other.slot_), object_(std::exchange(other.object_, nullptr)), inserting_(other.inserting_) {}
    exclusive& operator=(exclusive&&) = delete;
    ~exclusive() {
      if (object_ != nullptr) slot_->word.fetch_sub(ending_bit, std::memory_order_release);
    }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    Object* operator->() const noexcept { return object_; }

    /// The handle is dead from here on.
    std::unique_ptr<Object> take() noexcept {
      std::lock_guard const lock{*inserting_};
      slot_->object.store(nullptr, std::memory_order_relaxed);
      slot_->word.fetch_add(generation - ending_bit, std::memory_order_release);
      return std::unique_ptr<Object>{std::exchange(object_, nullptr)};
    }

   private:
    friend class handle_table;
    exclusive(slot* at, Object* object, std::mutex* inserting) noexcept
        : slot_(at), object_(object), inserting_(inserting) {}
    slot* slot_;
    Object* object_;
    std::mutex* inserting_;
  };

  /// Throws limit_error when all handles are in use; the object stays the caller's then.
  std::uint64_t insert(std::unique_ptr<Object>&& object) {
    std::lock_guard const lock{inserting_};
    for (std::size_t tried = 0; tried < Capacity; ++tried) {
      std::size_t const index = next_++ % Capacity;
      slot& at = slots_[index];
      if (at.object.load(std::memory_order_relaxed) != nullptr) continue;
      std::uint64_t const number = at.word.load(std::memory_order_acquire) / generation;
      at.forks.store(1 + lull::detail::forks_now(), std::memory_order_relaxed);  // carried by the handle
      at.object.store(object.release(), std::memory_order_release);              // to pins: the object is whole
      return number << 24 | Kind << 16 | index;
    }
    throw limit_error{"all " + std::to_string(Capacity) + " handles of this kind are in use: destroy some"};
  }

  /// Whether its object was left behind in a process that this one was forked from: none of the threads inside it are
  /// here to leave, and its locks may be held for ever.
  bool is_parents(std::uint64_t handle) noexcept {
    slot* const at = slot_of(handle);
    std::uint64_t const made = at == nullptr ? 0 : at->forks.load(std::memory_order_relaxed);
    return made != 0 && made != 1 + lull::detail::forks_now();
  }

  pin find(std::uint64_t handle) noexcept {
    slot* const at = slot_of(handle);
    if (at == nullptr) return {nullptr, nullptr};
    std::uint64_t const word = at->word.fetch_add(user, std::memory_order_acquire);
    Object* const object = at->object.load(std::memory_order_acquire);
    if (word / generation == handle >> 24 && (word & ending_bit) == 0 && object != nullptr) return {at, object};
    at->word.fetch_sub(user, std::memory_order_release);
    return {nullptr, nullptr};
  }

  /// Waits until nobody is inside. Empty for a handle that is not alive or that somebody else ends; throws limit_error
  /// when the time is over, and the object goes on as before.
  exclusive end(std::uint64_t handle, std::chrono::steady_clock::time_point deadline) {
    slot* const at = slot_of(handle);
    if (at == nullptr) return {nullptr, nullptr, nullptr};
    std::uint64_t word = at->word.load(std::memory_order_relaxed);
    do {
      if (word / generation != handle >> 24 || (word & ending_bit) != 0) return {nullptr, nullptr, nullptr};
    } while (!at->word.compare_exchange_weak(word, word | ending_bit, std::memory_order_acquire));
    exclusive made{at, at->object.load(std::memory_order_acquire), &inserting_};
    if (!made) {  // a number that was never given out
      at->word.fetch_sub(ending_bit, std::memory_order_relaxed);
      return made;
    }
    while ((at->word.load(std::memory_order_acquire) & users) != 0) {
      if (std::chrono::steady_clock::now() >= deadline) throw limit_error{"a call of another thread is still inside"};
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    return made;
  }

 private:
  slot* slot_of(std::uint64_t handle) noexcept {
    std::size_t const index = handle & 0xffff;
    return (handle >> 16 & 0xff) == Kind && index < Capacity ? &slots_[index] : nullptr;
  }

  std::array<slot, Capacity> slots_;
  std::mutex inserting_;
  std::size_t next_ = 0;  // a slot is used again as late as can be
};

}  // namespace lull::c
