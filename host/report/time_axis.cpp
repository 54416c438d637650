// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/time_axis.hpp>

#include <string>

#include <lull/host/report/time_text.hpp>

namespace lull {

void paint_time_axis(svg& into, time_axis const& axis) {
  time_unit const in = unit_for(axis.shown_ns);
  double const shown = axis.shown_ns / in.ns;
  double const step = tick_step(shown, 8);
  for (int i = 0; i * step <= shown; ++i) {
    double const x = axis.left + (axis.right - axis.left) * (i * step * in.ns) / axis.shown_ns;
    into.line(x, axis.lanes_top, x, axis.top, "#e4e4e4");
    into.line(x, axis.top, x, axis.top + 6, "#555555");
    std::string const anchor = i == 0 ? "start" : x > axis.right - 12 ? "end" : "middle";
    into.text(x, axis.top + 22, formatted("%g", i * step) + (i == 0 ? " " + std::string{in.name} : ""),
              {.size = 13, .fill = "#555555", .anchor = anchor});
  }
  into.line(axis.left, axis.top, axis.right, axis.top, "#555555");
}

}  // namespace lull
