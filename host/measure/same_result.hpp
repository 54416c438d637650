// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <lull/host/task/owner.hpp>

namespace lull {

/// Whether the result of a job that has finished is read before the task starts again. `all` takes time beside
/// training.
enum class results_kept { none, all };

/// Holds the jobs of one task against each other: whatever interrupted them, their arrays must end alike, bit for bit.
/// So one verification, of the first, judges all, and a job costs only the reading of its arrays. Keeps two copies of
/// them on the host. One thread at a time.
class same_result {
 public:
  explicit same_result(executor& executor) : executor_(executor) {}

  /// Reads the arrays of a job that has finished. True: it is the first, or like it.
  bool holds_for(task_owner const& owner);
  struct verdict {
    bool first = false;  // the first job's result is right, and so those like it
    verification all;
  };
  /// Puts the first job's arrays into the owner's, and verifies them there. Errors: usage_error before there was one.
  verdict verify(task_owner& owner) const;

 private:
  using bytes = std::vector<unsigned char>;

  executor& executor_;
  std::vector<bytes> first_;  // (arrays,)
  bytes read_;
  std::uint64_t seen_ = 0;
  std::uint64_t unlike_ = 0;
};

}  // namespace lull
