// SPDX-License-Identifier: Apache-2.0
// The contract on a GPU.
#include <lull/tests/host/contract/cases.hpp>

namespace lull {
namespace {

bool const joined = (join_shipped(contract_on::cuda), true);

}  // namespace
}  // namespace lull
