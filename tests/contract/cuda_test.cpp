// SPDX-License-Identifier: Apache-2.0
// The contract on a GPU. It needs no two kernels at once, so that compute-sanitizer can run it.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/executor.hpp>
#include <lull/tests/contract/contract.hpp>

namespace lull {
namespace {

TEST_P(contract, is_kept_on_cuda) {
  if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
  auto const machine = make_executor({.kind = executor_kind::cuda});
  EXPECT_EQ(contract_violation(GetParam(), *machine), "");
}

}  // namespace
}  // namespace lull
