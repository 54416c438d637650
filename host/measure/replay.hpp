// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <lull/host/measure/lost_cause.hpp>
#include <lull/host/measure/schedule.hpp>
#include <lull/host/measure/trainer.hpp>
#include <lull/host/runtime.hpp>

namespace lull {

/// One bubble of a replay, as it was.
struct replayed_bubble {
  std::uint32_t iteration = 0;
  std::uint32_t gap = 0;            // index in the plan
  std::uint64_t number = 0;         // the runtime's; 0: it was passed over, or there was no side work
  std::optional<lost_cause> cause;  // why it has no side work
  wait_moments moments;
  std::optional<bubble_report> harvested;  // what its workers did
};

struct replayed {
  std::vector<iteration_moments> iterations;
  std::vector<replayed_bubble> bubbles;
  bool complete = false;          // false: was stopped
  std::uint64_t looks = 0;        // at how much the host has enqueued in advance …
  std::uint64_t host_behind = 0;  // … less than a bubble
  double ms() const noexcept;     // from the first iteration's begin to the last one's end
};

/// Returns the cause of a bubble that the runtime passed over.
lost_cause cause_of(counted why) noexcept;

/// Chunks that were done in bubbles; nothing where the record of one is missing.
std::optional<std::uint64_t> chunks_of(std::vector<replayed_bubble> const& bubbles);

/// Enqueues iterations of the plan and waits for their end; with `side`, its gaps are bubbles. The host
/// enqueues at most 0.3 s or some bubbles more than the device has done; `stop` is asked before each gap.
/// `marks_steps`: each iteration is a step of `side`, and the last one is skipped.
replayed replay(stage_trainer& on, stage_plan const& plan, std::uint32_t iterations, runtime* side,
                std::function<bool()> const& stop, bool marks_steps = false);

}  // namespace lull
