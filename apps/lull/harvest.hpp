// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/harvest_plan.hpp>
#include <lull/apps/lull/report/report.hpp>
#include <lull/host/report/trace.hpp>

namespace lull {

/// What becomes of jobs that are unfinished after the replays.
enum class unfinished_jobs { run_to_their_end, are_cancelled };

/// What a harvest came to.
struct harvested {
  report found;
  std::vector<std::string> lines;  // what else is to be said
  bool good = true;                // false: a job failed, or its result is wrong
  bool was_on = true;              // false: nothing was harvested, since LULL or an error kept it off
  std::string trained_with;
  std::vector<trace_event> events;  // where a trace was asked for
};

/// Replays a stage of a pipeline with and without side work, by turns. Takes as long as its plan says, and seconds
/// before. Errors: those of error.hpp.
harvested measure_harvest(harvest_settings const& asked, plan_of_harvest plan, unfinished_jobs unfinished,
                          stop_request const& stop);

}  // namespace lull
