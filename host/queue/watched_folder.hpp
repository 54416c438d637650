// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lull::queue {

/// A folder in which files or folders appear, such as checkpoints, each of which is told once, when it is complete. Not
/// thread-safe.
class watched_folder {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  struct options {
    std::string marker{};                                       // a file in each folder that says that it is complete
    std::chrono::nanoseconds quiet = std::chrono::seconds{30};  // without a marker: unchanged for this long
  };
  static constexpr std::size_t max_entries = 100'000;

  /// Throws usage_error if there is no such folder.
  watched_folder(std::filesystem::path folder, options asked);

  /// Returns the names of those that are complete and were not told yet, in order. Names that begin with a dot are
  /// passed over. Throws device_error, limit_error.
  std::vector<std::string> complete(time_point now);

 private:
  struct seen {
    std::string state{};  // sizes and times of its files
    time_point since{};
  };

  std::filesystem::path const folder_;
  options const asked_;
  std::set<std::string> told_;
  std::map<std::string, seen> growing_;
};

}  // namespace lull::queue
