// SPDX-License-Identifier: Apache-2.0
// The contract on a GPU. It needs no two kernels at once, so that compute-sanitizer can run it: under its slowest tool with
// LULL_CONTRACT=brief in the environment, which preempts less often, on eight SMs.
#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/executor.hpp>
#include <lull/tests/contract/contract.hpp>

namespace lull {
namespace {

TEST_P(contract, is_kept_on_cuda) {
  if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
  char const* const asked = std::getenv("LULL_CONTRACT");
  bool const brief = asked != nullptr && std::string{asked} == "brief";
  auto const machine = make_executor({.kind = executor_kind::cuda, .rooms = brief ? 0 : 2, .processors = brief ? 8 : 0});
  EXPECT_EQ(contract_violation(GetParam(), *machine, brief ? contract_effort{.every_k = 2, .random_runs = 1} : contract_effort{}), "");
}

}  // namespace
}  // namespace lull
