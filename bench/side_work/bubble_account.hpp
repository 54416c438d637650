// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/host/runtime.hpp>

namespace lull::bench {

/// Reads what a runtime tells of its bubbles. One thread calls it, and no other code takes bubbles of that runtime.
class bubble_account {
 public:
  explicit bubble_account(runtime& side) : side_(side) {}

  /// Takes in what is told by now: a runtime that keeps too many unread records passes bubbles over. Never blocks.
  void collect();
  /// Returns all bubbles since the last call, when those that were opened are told, or after at most two seconds.
  std::vector<bubble_report> settle();

 private:
  runtime& side_;
  std::vector<bubble_report> found_;
  std::uint64_t told_ = 0;
};

/// Returns how many items the job of `side` does in a ns of a long bubble without training; nothing where leases cut
/// these. `long_bubble` opens one, waits on the device for so many ns, closes, and waits for the device.
std::optional<double> solo_items_per_ns(bubble_account& account, std::function<void(std::uint64_t)> const& long_bubble);

/// Of each kind that was counted between, by its name.
nlohmann::ordered_json counts_between(runtime_counts const& before, runtime_counts const& now);

}  // namespace lull::bench
