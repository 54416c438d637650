// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// The task `graph_sgd`: factorises a matrix of ratings, read or generated; its options are in graph_sgd_owner.cpp.
task_entry graph_sgd_entry();

}  // namespace lull
