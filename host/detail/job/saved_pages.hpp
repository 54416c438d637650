// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <lull/host/executor.hpp>

namespace lull::detail {

/// Pinned host memory, allocated once, in which jobs' memory is saved. Thread-safe.
class saved_pages {
 public:
  static constexpr std::size_t page_bytes = std::size_t{4} << 20;
  static std::size_t count_for(std::size_t bytes) noexcept { return (bytes + page_bytes - 1) / page_bytes; }

  /// May synchronise with the trainer. The machine must outlive all pages. Throws limit_error.
  saved_pages(device_memory& executor, std::uint64_t bytes) : room_(std::make_shared<room>(executor, bytes)) {}

  std::size_t unused() const {
    std::lock_guard const lock{room_->mutex};
    return room_->unused.size();
  }
  /// Returns a page that frees itself with its last owner; null if all are used.
  std::shared_ptr<std::byte> take() {
    std::lock_guard const lock{room_->mutex};
    if (room_->unused.empty()) return nullptr;
    std::byte* const page = room_->unused.back();
    room_->unused.pop_back();
    return {page, [room = room_](std::byte* ended) {
              std::lock_guard const back{room->mutex};
              room->unused.push_back(ended);
            }};
  }

 private:
  struct room {
    room(device_memory& of, std::uint64_t bytes)
        : executor(of), at(bytes < page_bytes ? nullptr : static_cast<std::byte*>(of.pin(bytes))) {
      for (std::uint64_t page = bytes / page_bytes; page-- != 0;) unused.push_back(at + page * page_bytes);
    }
    ~room() {
      if (at != nullptr) executor.unpin(at);
    }
    room(room const&) = delete;
    room& operator=(room const&) = delete;

    device_memory& executor;
    std::byte* const at;
    std::mutex mutex;
    std::vector<std::byte*> unused;  // reserved for all, so that giving one back does not allocate
  };

  std::shared_ptr<room> room_;
};

}  // namespace lull::detail
