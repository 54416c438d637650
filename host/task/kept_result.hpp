// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <lull/host/task/owner.hpp>

namespace lull {

/// Makes another owner of the same task; it is not prepared.
using another_owner = std::function<std::unique_ptr<task_owner>()>;

/// What a finished task has written, in host memory: enough to verify it after its arrays are freed.
class kept_result {
 public:
  /// The limit of all kept results of this process.
  static constexpr std::uint64_t max_bytes = std::uint64_t{256} << 20;

  /// Reads back what the owner's task has written. Throws limit_error if that exceeds what may be kept.
  kept_result(another_owner another, task_owner const& owner, executor& executor);
  ~kept_result();
  kept_result(kept_result const&) = delete;
  kept_result& operator=(kept_result const&) = delete;

  /// Verifies the result. Reads the inputs again, and takes the arrays' memory while it works. Throws as
  /// task_owner::prepare.
  verification verify(executor& executor) const;

 private:
  struct piece {
    tensor_info array;
    std::vector<std::byte> bytes;
  };

  another_owner const another_;
  std::uint64_t bytes_ = 0;
  std::vector<piece> pieces_;
};

}  // namespace lull
