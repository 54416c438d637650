// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <new>
#include <stdexcept>
#include <type_traits>

namespace lull::test {

/// A value that a child shares with its parent, also after it was killed. To write it is no system call.
template <class T>
class shared_value {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  shared_value() {
    void* const made = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) throw std::runtime_error{"no memory to share"};
    value_ = new (made) T{};
  }
  ~shared_value() { ::munmap(value_, sizeof(T)); }
  shared_value(shared_value const&) = delete;
  shared_value& operator=(shared_value const&) = delete;

  T& operator*() noexcept { return *value_; }
  T* operator->() noexcept { return value_; }

 private:
  T* value_;
};

}  // namespace lull::test
