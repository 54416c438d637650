// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lull::detail {

/// Finds a trainer's steps by its bubbles if the program marks none: each opening at one site of one stream begins a
/// step. A site that several bubbles of a step share begins too many steps, shorter and unlike. Not thread-safe.
class step_finder {
 public:
  /// Openings without a mark of the program before the finder begins; a step has fewer.
  static constexpr std::uint32_t patience = 512;
  /// After this many openings elsewhere the finder drops the site, and the next one to open begins steps.
  static constexpr std::uint32_t max_elsewhere = 4'096;

  /// Call for each opening. Returns whether it begins a step.
  bool begins(std::uint64_t stream, std::string_view site) {
    if (seen_ < patience && ++seen_ < patience) return false;
    bool const is_there = site_ && stream == stream_ && site == *site_;
    if (!is_there && site_ && ++elsewhere_ < max_elsewhere) return false;
    if (!is_there) {
      stream_ = stream;
      site_ = site;
    }
    elsewhere_ = 0;
    return true;
  }

 private:
  std::uint32_t seen_ = 0;
  std::uint32_t elsewhere_ = 0;
  std::uint64_t stream_ = 0;
  std::optional<std::string> site_;
};

}  // namespace lull::detail
