// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <lull/host/executor.hpp>

namespace lull::detail {

/// Owned pinned host memory that copy lanes reach. Destroy it before the machine, and after every copy that uses it.
template <class T>
class pinned_array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Zeroed. Throws limit_error.
  pinned_array(machine_memory& machine, std::size_t count)
      : machine_(machine), data_(static_cast<T*>(machine.pin(count * sizeof(T)))) {
    std::fill_n(data_, count, T{});
  }
  ~pinned_array() { machine_.unpin(data_); }
  pinned_array(pinned_array const&) = delete;
  pinned_array& operator=(pinned_array const&) = delete;

  T* data() const noexcept { return data_; }

 private:
  machine_memory& machine_;
  T* const data_;
};

}  // namespace lull::detail
