// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <lull/host/measure/replay.hpp>
#include <lull/host/measure/statistics.hpp>

namespace lull {

/// What the task does alone: what harvest is measured by.
struct solo_speed {
  double items_per_s = 0;                  // on all processors
  double items_per_s_beside_reserved = 0;  // with the same reserved groups kept off
  double wait_share = 0;                   // of its blocks' time that waiting for a phase takes there, too
};

/// What one task did in bubbles.
struct task_part {
  solo_speed solo;
  std::uint64_t items = 0;
};

/// Of several tasks together: the speed at which they do these same items alone, one task after the other. By it
/// harvest is the sum over tasks of items by that task's own speed. Where the speed of a task that did something is not
/// known, nothing is.
solo_speed mixed(std::vector<task_part> const& parts);

struct bubble_counts {
  std::optional<std::uint64_t> count;
  std::optional<std::uint64_t> harvested;
  std::optional<std::uint64_t> skipped;
  std::optional<double> total_ms;
};
struct harvest_gain {
  std::optional<double> ratio;                     // against the task alone on all SMs
  std::optional<double> ratio_excluding_reserved;  // against the task alone with the same reserved groups kept off
  std::optional<double> solo_items_per_s;          // of the tasks alone, one after another in the shares of the harvest
  std::optional<double> solo_jobs_per_s;           // of the only task, whole jobs
  std::optional<std::uint64_t> taken_bytes;        // at most, of the machine's memory, by a job of each task
  // Of the SMs: alone, by the driver; in bubbles with side work, by the device's own counters. At the power limit a
  // training GPU runs slower than one that does side work alone, and so does the side work in its bubbles.
  std::optional<double> solo_sm_mhz;
  std::optional<double> bubbles_sm_mhz;
  std::array<std::optional<double>, lost_causes> lost_us;

  std::optional<double>& lost(lost_cause cause) { return lost_us[static_cast<std::size_t>(cause)]; }
  std::optional<double> const& lost(lost_cause cause) const { return lost_us[static_cast<std::size_t>(cause)]; }
};

/// What was done in bubbles, and where the rest of their time went.
///
/// Bubble time lost by a cause is the mean over the blocks launched for a job, as a share of what all processors would
/// have done. What was harvested and what was lost by each cause are together the bubbles' time: `slower` is what no
/// other cause explains. It may be below zero: chunks that are finished after the close are harvested although their
/// time stands under drain, and a stand-alone speed has noise.
struct harvest_account {
  bubble_counts bubbles;
  harvest_gain gain;
  distribution drain_us;
  distribution start_us;
  std::uint64_t items = 0;
  std::uint64_t lease_blocks = 0;  // left by lease while the bubble was open
};

harvest_account account_of(std::vector<replayed_bubble> const& bubbles, solo_speed const& solo);

}  // namespace lull
