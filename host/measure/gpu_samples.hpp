// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <lull/host/report/gpu_monitor.hpp>

namespace lull {

/// Field by field over the samples that have it: the median; for power_capped, whether any sample was.
gpu_state summarise(std::span<gpu_state const> samples);

}  // namespace lull
