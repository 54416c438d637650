// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace lull::test {

/// A runtime's log lines, which come on the log's own thread. Outlives the runtime.
class log_lines {
 public:
  std::function<void(std::string_view)> function() {
    return [this](std::string_view line) {
      {
        std::lock_guard const lock{mutex_};
        lines_.emplace_back(line);
      }
      came_.notify_all();
    };
  }
  std::vector<std::string> now() const {
    std::lock_guard const lock{mutex_};
    return lines_;
  }
  /// Returns the lines once there are so many, or after a minute.
  std::vector<std::string> when(std::size_t count) {
    std::unique_lock lock{mutex_};
    came_.wait_for(lock, std::chrono::minutes{1}, [&] { return lines_.size() >= count; });
    return lines_;
  }
  friend std::ostream& operator<<(std::ostream& out, log_lines const& log) {
    for (std::string const& line : log.now()) out << line << '\n';
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::string> lines_;
};

}  // namespace lull::test
