// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace lull::bench {

/// Texts of random edges and ratings, each of 100 MB, made when they are first asked for; gone with the object. Edges
/// lead between 2²⁰ vertices. Not thread-safe.
class random_texts {
 public:
  static constexpr std::uint64_t text_bytes = 100'000'000;
  static constexpr std::uint32_t vertices = 1U << 20;

  /// Throws std::runtime_error where there is no temporary folder.
  random_texts();
  ~random_texts();
  random_texts(random_texts const&) = delete;
  random_texts& operator=(random_texts const&) = delete;

  /// The text's path. Kinds: el, wel and gr are directed graphs, the last two with weights; mtx is a symmetric matrix
  /// without; csv has ratings. Throws std::invalid_argument for another kind, std::runtime_error where it cannot be
  /// written.
  std::string text(std::string_view kind) const;

 private:
  std::filesystem::path path_;
};

}  // namespace lull::bench
