// SPDX-License-Identifier: Apache-2.0
// Stands in for cuda_waiting.cpp in a build without nvcc.
#include <lull/apps/lull/waiting_cost.hpp>
#include <lull/host/executor.hpp>

namespace lull {

waiting_cost measure_waiting(int device) { return {.why_not = "NOT RUN: " + why_no_cuda(device)}; }

}  // namespace lull
