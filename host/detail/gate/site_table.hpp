// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <lull/host/detail/gate/forecast.hpp>
#include <lull/host/detail/gate/history.hpp>
#include <lull/host/detail/gate/open_lease.hpp>

namespace lull::detail {

/// What is known of a site.
struct site_state {
  std::string name;
  history past;
  forecast opens;  // of a stream's bubbles; a replay is not forecast
  hold_ups held_up;
  open_lease inside;
  std::optional<std::uint32_t> shared_index{};  // its number for other processes; nothing: it has none …
  bool asked_to_share = false;                  // … or nobody has asked for one
};

/// Sites by name. Not thread-safe.
class site_table {
 public:
  static constexpr std::size_t max_sites = 4096;  // a further one replaces the least recently used

  explicit site_table(site_limits limits) noexcept : limits_(limits) {}

  std::shared_ptr<site_state> const& find(std::string_view name) {
    // A step visits its sites in the order of the step before, so the next is the least recently used: this avoids the
    // map, whose nodes are in no cache.
    if (!by_use_.empty() && by_use_.back()->name == name) {
      by_use_.splice(by_use_.begin(), by_use_, std::prev(by_use_.end()));
      return by_use_.front();
    }
    if (auto const known = by_name_.find(name); known != by_name_.end()) {
      by_use_.splice(by_use_.begin(), by_use_, known->second);
      return by_use_.front();
    }
    if (by_use_.size() == max_sites) {
      by_name_.erase(by_use_.back()->name);
      by_use_.pop_back();
    }
    by_use_.push_front(std::make_shared<site_state>(std::string{name}, history{limits_}));
    by_name_.emplace(by_use_.front()->name, by_use_.begin());
    return by_use_.front();
  }
  void clear() noexcept {
    by_name_.clear();
    by_use_.clear();
    longest_ = max_before_ = {};
    noted_ = 0;
  }

  /// Notes that a bubble of this site was added to its history.
  void note(site_state const& at) noexcept {
    longest_ = std::max(longest_, at.past.longest());
    if (++noted_ < by_use_.size()) return;
    max_before_ = std::exchange(longest_, {});
    noted_ = 0;
  }
  /// Returns the longest recent bubble of all sites that were noted recently: among the last one to two bubbles a site.
  std::chrono::nanoseconds longest() const noexcept { return std::max(longest_, max_before_); }

 private:
  using sites = std::list<std::shared_ptr<site_state>>;

  site_limits const limits_;
  sites by_use_;                                                   // the last used is in front
  std::unordered_map<std::string_view, sites::iterator> by_name_;  // views of their names
  std::chrono::nanoseconds longest_{0};
  std::chrono::nanoseconds max_before_{0};
  std::uint64_t noted_ = 0;  // for longest_
};

}  // namespace lull::detail
