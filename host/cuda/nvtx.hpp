// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lull::detail {

/// Spans on the timeline of a tool such as Nsight Systems, in the NVTX domain "lull": from a bubble's opening call to
/// its closing call, under its site's name, and each submit under its job's. They show when the host enqueued what; the
/// reports show what the device did. Without such a tool a span costs the test of a pointer, and in a build without
/// CUDA nothing. Thread-safe.
std::uint64_t begin_range(char const* text) noexcept;
void end_range(std::uint64_t range) noexcept;

/// A range as a scope.
class range_scope {
 public:
  explicit range_scope(char const* text) noexcept : range_(begin_range(text)) {}
  ~range_scope() { end_range(range_); }
  range_scope(range_scope const&) = delete;
  range_scope& operator=(range_scope const&) = delete;

 private:
  std::uint64_t const range_;
};

}  // namespace lull::detail
