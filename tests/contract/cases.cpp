// SPDX-License-Identifier: Apache-2.0
// Every shipped side task under contract, one line each.
#include <memory>

#include <gtest/gtest.h>

#include <lull/tests/contract/contract.hpp>
#include <lull/tests/contract/synthetic_owners.hpp>

namespace lull {
namespace {

INSTANTIATE_TEST_SUITE_P(probe, contract, testing::Values(under_contract<probe_task>("probe", [] {
                           return std::make_unique<probe_owner>();
                         })));
INSTANTIATE_TEST_SUITE_P(compute, contract, testing::Values(under_contract<compute_task>("compute", [] {
                           return std::make_unique<compute_owner>();
                         })));
INSTANTIATE_TEST_SUITE_P(streaming, contract, testing::Values(under_contract<streaming_task>("streaming", [] {
                           return std::make_unique<streaming_owner>();
                         })));

}  // namespace
}  // namespace lull
