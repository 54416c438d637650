// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include <gtest/gtest.h>

#include <lull/tests/support/within_time.hpp>

namespace lull {

/// Stops a test's stream until it is let go: at the latest when this ends, or after `long_enough`, which fails the
/// test.
class halt {
 public:
  halt() = default;
  halt(halt const&) = delete;
  halt& operator=(halt const&) = delete;
  ~halt() { let_go(); }

  /// An operation for a stream, which may run when this has ended.
  auto operation() const {
    return [goes = goes_] { EXPECT_TRUE(within_time([&] { return goes->load(); })) << "a stream was not let go"; };
  }
  void let_go() noexcept { *goes_ = true; }

 private:
  std::shared_ptr<std::atomic<bool>> const goes_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace lull
