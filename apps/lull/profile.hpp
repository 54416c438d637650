// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <lull/apps/lull/report/report.hpp>
#include <lull/host/task/memory_need.hpp>

namespace lull {

/// A side task in bubbles of several lengths on one machine, and what it cost training there.
struct task_profile {
  struct in_bubbles {
    std::string longest;  // as it was asked for
    report found;
  };

  memory_need memory;
  std::vector<in_bubbles> lengths;  // one at least; all of one task, which their reports name
};

/// By how many per cent a step would be longer at a harvest of 1, if what it costs is in proportion. Nothing where
/// either was not measured, nothing was harvested, or the interval of the slowdown reaches down to 0.
std::optional<double> appetite_percent(report const& found);

/// JSON of schema "lull.profile/2" with a line end: one machine, one `profiles` entry for each task. What was not
/// measured is null, never 0.
std::string profiles_json(std::vector<task_profile> const& profiles);

/// A table for each task; lines of at most 80 columns.
void print_profiles(std::ostream& out, std::vector<task_profile> const& profiles);

}  // namespace lull
