// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// What an executor has taken of a machine's memory, and its limit. It counts what the machine is short of, not what
/// was asked for. Not thread-safe.
class memory_account {
 public:
  /// `limit_bytes` 0: no limit.
  explicit memory_account(std::uint64_t limit_bytes) noexcept : limit_(limit_bytes) {}

  /// Throws limit_error, and then has taken nothing. `kept`: how much more must be left.
  void take(std::uint64_t bytes, std::uint64_t kept = 0) {
    if (std::uint64_t const free = left(); free < kept || free - kept < bytes) {
      throw limit_error{"memory limit of " + std::to_string(limit_) + " bytes reached: " + std::to_string(taken_.now) +
                        " are in use" + (kept != 0 ? ", " + std::to_string(kept) + " are reserved" : "") +
                        ", and a task needs " + std::to_string(bytes) + " more; raise memory_limit"};
    }
    taken_.add(bytes);
  }
  void give_back(std::uint64_t bytes) noexcept { taken_.remove(bytes); }

  bytes_taken const& taken() const noexcept { return taken_; }
  /// Returns what is left; any_bytes without a limit.
  std::uint64_t left() const noexcept { return limit_ == 0 ? any_bytes : limit_ - std::min(limit_, taken_.now); }

 private:
  std::uint64_t const limit_;
  bytes_taken taken_;
};

}  // namespace lull
