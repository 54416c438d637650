// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <lull/host/measure/schedule.hpp>

namespace lull::bench {

/// What the host of a stage enqueues: a pass of its own, or its end of a transfer between neighbouring virtual stages.
struct step_action {
  enum class kind { compute, send, receive };

  kind what = kind::compute;
  pass_kind pass = pass_kind::forward;  // of a transfer: what the receiver needs it for
  std::uint32_t virtual_stage = 0;      // of this stage
  std::uint32_t microbatch = 0;
  std::uint32_t peer = 0;  // the other stage of a transfer

  friend bool operator==(step_action const&, step_action const&) = default;
};

/// Returns what each stage enqueues in a step: (stages,), each in order. A receive stands directly before the pass that
/// needs it, and a send where the receiver's simulated clock is then. So the stages would come to the end even if each
/// ended one action before it began the next, and a transfer took both ends at once: no stream needs a hardware queue
/// of its own. Errors: usage_error for a single stage, and as plan_stage.
std::vector<std::vector<step_action>> step_order(schedule_shape const& shape);

}  // namespace lull::bench
