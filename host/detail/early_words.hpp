// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include <lull/host/early_close.hpp>
#include <lull/host/executor.hpp>

namespace lull::detail {

/// This process, in handles: drawn at random, and another one in a child that was forked. Never 0.
std::uint64_t process_in_handles();

/// The words of a runtime by which peers close bubbles early: one a site that was asked for. Thread-safe.
class early_words {
 public:
  static constexpr std::size_t max_sites = 1024;

  explicit early_words(executor& machine) noexcept : machine_(machine) {}
  ~early_words() {
    for (auto const& [name, word] : by_name_) machine_.return_early_word(word.at);
  }
  early_words(early_words const&) = delete;
  early_words& operator=(early_words const&) = delete;

  /// The site's, made where it is asked for first. Throws limit_error and device_error.
  early_word make(std::string_view name);
  /// Null: nobody has asked for it.
  std::uint32_t* find(std::string_view name) const {
    std::lock_guard const lock{mutex_};
    auto const known = by_name_.find(name);
    return known != by_name_.end() ? known->second.at : nullptr;
  }

 private:
  executor& machine_;
  mutable std::mutex mutex_;
  std::map<std::string, early_word, std::less<>> by_name_;
};

}  // namespace lull::detail
