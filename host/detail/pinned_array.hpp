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
  pinned_array(device_memory& executor, std::size_t count)
      : executor_(executor), data_(static_cast<T*>(executor.pin(count * sizeof(T)))) {
    std::fill_n(data_, count, T{});
  }
  ~pinned_array() { executor_.unpin(data_); }
  pinned_array(pinned_array const&) = delete;
  pinned_array& operator=(pinned_array const&) = delete;

  T* data() const noexcept { return data_; }

 private:
  device_memory& executor_;
  T* const data_;
};

}  // namespace lull::detail
