// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lull {

/// "pairs  3 of 10  [######--------------]  30 %, 12 s left", cut to `width` columns. What is left is reckoned from
/// what passed since `from` were done; before the first step more is done it is not said.
std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total,
                          std::chrono::nanoseconds elapsed, std::size_t width, std::uint64_t from = 0);

/// Lines that tell how far a long run and its parts are, on a terminal; where the output is none (a file, a pipe,
/// TERM=dumb), nothing is written at all. Not thread safe. Writes at most ten times a second, and blocks if the
/// terminal does: call it between runs that are timed, not inside.
class progress {
 public:
  static constexpr std::size_t max_lines = 8;  // of further parts nothing is shown
  struct part {
    std::string what;
    std::uint64_t total;  // 0: not known, and no line
  };

  explicit progress(std::vector<part> const& parts, int descriptor = 2);
  /// Wipes the lines.
  ~progress();
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;

  /// A number for each part. One that is less than before is of a part that started again.
  void update(std::vector<std::uint64_t> const& done);

 private:
  struct line {
    part of;
    std::size_t index;       // among the parts
    std::uint64_t from = 0;  // done when it began, and when that was
    std::optional<std::chrono::steady_clock::time_point> start;
    std::uint64_t last = 0;
  };
  void write(std::string_view text) const noexcept;
  std::string to_first_line() const;

  std::vector<line> lines_;
  int descriptor_;
  bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace lull
