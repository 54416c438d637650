// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lull {

/// "pairs  3 of 10  [######--------------]  30 %, 12 s left", cut to `width` columns. What is left is reckoned from
/// what passed; before the first step is done it is not said.
std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total,
                          std::chrono::nanoseconds elapsed, std::size_t width);

/// A line that tells how far a long run is, on a terminal; where the output is none (a file, a pipe, TERM=dumb),
/// nothing is written at all. Not thread safe. Writes at most ten times a second, and blocks if the terminal does: call
/// it between runs that are timed, not inside.
class progress {
 public:
  progress(std::string what, std::uint64_t total, int descriptor = 2);
  /// Wipes the line.
  ~progress();
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;

  void update(std::uint64_t done);

 private:
  void write(std::string_view text) const noexcept;

  std::string what_;
  std::uint64_t total_;
  int descriptor_;
  bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace lull
