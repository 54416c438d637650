// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// "mlp": trains a perceptron. "classify": asks a trained one.
task_entry mlp_entry();
task_entry classify_entry();

}  // namespace lull
