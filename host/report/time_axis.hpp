// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/report/svg.hpp>

namespace lull {

/// The axis under lanes that share a time line from 0: ticks at round times, and a thin line up through the lanes at
/// each.
struct time_axis {
  double left;       // px, at time 0
  double right;      // px, at `shown_ns`
  double lanes_top;  // px
  double top;        // px, of the axis itself
  double shown_ns;   // above 0
};

void paint_time_axis(svg& into, time_axis const& axis);

}  // namespace lull
