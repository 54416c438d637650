// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace lull {

/// Why bubble time was not harvested. Their times sum up to what was lost; docs/5-measuring.md says how each is found.
enum class lost_cause {
  start,            // open until all blocks work
  drain,            // the bubble was over, the block not yet out
  host_late,        // the host enqueued the worker when the bubble was over
  too_short,        // the site's bubbles are shorter than they cost
  no_job,           // no job stood ready, or the last one that did had ended
  starved,          // the task had no input
  phase_wait,       // a phase was exhausted and its last chunks not yet committed, or blocks rested before the close
  lease,            // the worker's time was over, the bubble not
  reserved_groups,  // SMs that were kept off
  grain,     // what had been done of chunks that were handed back and started again, or a site where all of them are
  held,      // control kept blocks out
  withheld,  // iterations without side work, so that a bound on slowdown is kept
  slower     // the rest: working, but below stand-alone speed; below zero: above it
};
constexpr std::size_t lost_causes = 13;

std::string_view name_of(lost_cause cause) noexcept;

}  // namespace lull
