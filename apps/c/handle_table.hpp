// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include <pthread.h>

#include <lull/apps/c/boundary.hpp>
#include <lull/host/detail/forks.hpp>

namespace lull::c {

/// The objects of one kind that C programs hold by handle; one table a kind. A handle is a number that is never given
/// out twice. So the table tells a live handle from one whose object is gone, one of another kind and one that was made
/// up, and reads no memory that is not ours. Thread-safe.
///
/// A handle: serial number (32 bits), forks of the process that inserted it (24 bits), kind (8 bits).
template <class Handle, class Object, std::uint64_t Kind, std::size_t Capacity>
class handle_table {
  static_assert(Kind != 0 && Kind < 256 && sizeof(Handle*) == sizeof(std::uint64_t));
  static constexpr int kind_bits = 8;
  static constexpr int fork_bits = 24;

  struct entry {
    std::unique_ptr<Object> object;
    std::atomic<int> users{0};           // pins; one more only under `mutex_`, while nobody ends the object
    std::atomic<bool> is_ending{false};  // set under `mutex_`
  };

 public:
  /// While it lives, the object does. Empty for a handle that is not alive.
  class pin {
   public:
    pin() = default;
    pin(pin&&) noexcept = default;
    pin& operator=(pin&&) = delete;
    ~pin() { let_go(); }
    void let_go() noexcept {
      if (entry_ != nullptr) entry_->users.fetch_sub(1, std::memory_order_release);  // to the call that ends it
      entry_.reset();
    }
    explicit operator bool() const noexcept { return entry_ != nullptr; }
    Object* operator->() const noexcept { return entry_->object.get(); }
    Object& operator*() const noexcept { return *entry_->object; }
    /// Returns whether somebody waits for this pin, to end the object.
    bool ending() const noexcept { return entry_->is_ending.load(std::memory_order_relaxed); }

   protected:
    friend class handle_table;
    std::shared_ptr<entry> entry_;
  };

  /// The object with nobody else inside. Not taken, it goes on as before.
  class exclusive : public pin {
   public:
    exclusive() = default;
    exclusive(exclusive&&) noexcept = default;
    ~exclusive() {
      if (*this) this->entry_->is_ending = false;
    }
    /// From now on the handle is dead.
    std::unique_ptr<Object> take() noexcept {
      std::lock_guard const lock{mutex_};
      entries().erase(number_);
      return std::move(std::exchange(this->entry_, nullptr)->object);
    }

   private:
    friend class handle_table;
    std::uint64_t number_ = 0;
  };

  /// Throws limit_error when all handles are in use; then the object stays the caller's.
  static Handle* insert(std::unique_ptr<Object>&& object) {
    static bool const forks_safely =
        pthread_atfork([] { mutex_.lock(); }, [] { mutex_.unlock(); }, [] { mutex_.unlock(); }) == 0;
    static_cast<void>(forks_safely);  // without memory for the handlers a child may hang in its own calls
    std::lock_guard const lock{mutex_};
    if (entries().size() == Capacity)
      throw limit_error{"all " + std::to_string(Capacity) + " handles of this kind are in use: destroy some"};
    std::uint64_t const number = next_++ << (kind_bits + fork_bits) | forks() << kind_bits | Kind;
    auto made = std::make_shared<entry>();
    entries().emplace(number, made);
    made->object = std::move(object);
    return reinterpret_cast<Handle*>(static_cast<std::uintptr_t>(number));
  }

  /// Throws a refusal for a handle of the process that this one was forked from: none of the threads inside the object
  /// are here to leave, and its locks may be held for ever. Takes no lock for that.
  static pin find(Handle const* handle) {
    pin found;
    enter(found, handle, [](entry const& known) { return known.is_ending.load(); });
    return found;
  }

  /// Waits until nobody is inside. Empty for a handle that is not alive, or whose object somebody else ends. Throws a
  /// refusal as `find` does, and when the time is over: then the object goes on as before.
  static exclusive end(Handle const* handle, std::chrono::steady_clock::time_point deadline) {
    exclusive made;
    made.number_ = enter(made, handle, [](entry& known) { return known.is_ending.exchange(true); });
    while (made && made.entry_->users.load(std::memory_order_acquire) != 1) {
      if (std::chrono::steady_clock::now() >= deadline)
        throw refusal{LULL_ERROR_STATE, "another thread is still inside a call with this handle: try again"};
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    return made;
  }

 private:
  template <class IsLeft>
  static std::uint64_t enter(pin& by, Handle const* handle, IsLeft is_left) {
    auto const number = reinterpret_cast<std::uintptr_t>(handle);
    if (number % (1U << kind_bits) == Kind && (number >> kind_bits) % (1U << fork_bits) < forks())
      throw refusal{LULL_ERROR_STATE,
                    "this process was forked from the one that made the handle: make another after the fork"};
    std::lock_guard const lock{mutex_};
    auto const known = entries().find(number);
    if (known == entries().end() || is_left(*known->second)) return number;
    known->second->users.fetch_add(1, std::memory_order_relaxed);  // the lock publishes it
    by.entry_ = known->second;
    return number;
  }

  static std::uint64_t forks() noexcept { return lull::detail::forks_now() % (1U << fork_bits); }

  /// Never destroyed: a program may end with handles that it never destroyed, and with our threads that use them.
  static auto& entries() noexcept {
    static auto* const made = new std::unordered_map<std::uint64_t, std::shared_ptr<entry>>;
    return *made;
  }

  static inline std::mutex mutex_;  // of the entries
  static inline std::uint64_t next_ = 1;
};

}  // namespace lull::c
