// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/contract/suite.hpp>

namespace lull {

/// Every shipped side task joins the contract suite, one line each. Called once, before main.
void join_shipped(contract_on where);

}  // namespace lull
