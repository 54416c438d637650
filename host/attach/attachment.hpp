// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <lull/host/attach/handshake.hpp>
#include <lull/host/attach/local_socket.hpp>
#include <lull/host/attach/shared_memory.hpp>
#include <lull/host/executor.hpp>

namespace lull::attach {

/// A worker's end of what a trainer shares. Not thread-safe.
class attachment {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  /// A report is sent at least so often.
  static constexpr std::chrono::milliseconds report_every{100};

  struct worker {
    std::string name;
    executor_kind kind = executor_kind::threads;
    std::string device{};
    bool together = true;  // shared_machine::runs_processes_together
  };

  /// Attaches to the trainer at a socket; returns null if none listens there now. Waits at most a second for its
  /// answer. Throws usage_error if the trainer refuses, or is another user's; device_error.
  static std::unique_ptr<attachment> to(std::string const& path, worker const& who);

  shared_page const& page() const noexcept { return page_.page(); }
  /// Returns this worker's number in announcements.
  std::uint32_t number() const noexcept { return number_; }
  /// Returns how much of the device's memory stays free for the trainer.
  std::uint64_t reserve_bytes() const noexcept { return reserve_bytes_; }
  pid_t trainer() const noexcept { return trainer_.other_end().process; }
  /// Returns whether the trainer has ended, or no longer shares. Does not wait.
  bool is_over() noexcept;
  /// Returns the memory that the trainer needs, if it has said so since the last call. Does not wait.
  std::optional<memory_wanted> take_wanted() noexcept { return std::exchange(wanted_, std::nullopt); }
  /// Tells the trainer what this worker has, if that is new or due. Does not wait.
  void say(report const& now, time_point when) noexcept;

 private:
  explicit attachment(welcomed by)
      : trainer_(std::move(by.trainer)), number_(by.worker), reserve_bytes_(by.reserve_bytes), page_(by.page) {}

  connection trainer_;
  std::uint32_t const number_;
  std::uint64_t const reserve_bytes_;
  seen_page page_;
  bool is_over_ = false;
  std::optional<memory_wanted> wanted_{};
  std::optional<report> said_{};
  time_point said_at_{};
};

}  // namespace lull::attach
