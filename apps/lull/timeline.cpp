// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/timeline.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/report/svg.hpp>
#include <lull/host/report/time_axis.hpp>
#include <lull/host/report/time_text.hpp>

namespace lull {
namespace {

using kind = timeline_span::kind;

constexpr std::size_t max_spans = 4000;  // a lane
constexpr double width = 1200;
constexpr double left = 24;
constexpr double right = width - 24;
constexpr double lane_height = 64;
constexpr double side_inset = 5;  // so that the bubble shows around the side work
constexpr double first_lane_top = 150;
constexpr double second_lane_top = first_lane_top + lane_height + 66;
constexpr double axis_top = second_lane_top + lane_height + 14;
constexpr double legend_top = axis_top + 52;
constexpr double height = legend_top + 40;
constexpr double readable_label = 10;  // the narrowest span that gets one, for one character
constexpr double character_width = 8;
constexpr double bordered = 3;  // narrower spans have no border, which would hide their colour

// Okabe and Ito's colours: told apart without red or green, and by brightness alone.
struct style {
  std::string_view name;
  std::string_view fill;
  std::string_view text;
  std::string_view legend;
};

style const& style_of(kind what) {
  static constexpr std::array<style, 4> styles{style{"forward", "#a6d5f2", "#10202c", "forward"},
                                               style{"backward", "#0b5a8f", "#ffffff", "backward"},
                                               style{"bubble", "url(#idle)", "#444444", "bubble: nothing runs"},
                                               style{"side work", "#f0a30a", "#2b1c00", "side work"}};
  return styles[static_cast<std::size_t>(what)];
}

// ---- what is shown -----------------------------------------------------------------------------------------------

void check(timeline_lane const& lane) {
  for (timeline_span const& span : lane.spans) {
    if (span.start_ns < 0 || span.duration_ns < 0) {
      throw usage_error("a span of a time line, \"" + span.label +
                        "\", starts before its lane or ends before it starts");
    }
  }
}

std::int64_t end_of(timeline_lane const& lane) {
  std::int64_t end = 0;
  for (timeline_span const& span : lane.spans) end = std::max(end, span.start_ns + span.duration_ns);
  return end;
}

// Where the span above the limit would begin.
std::int64_t cut_of(timeline_lane const& lane) {
  if (lane.spans.size() <= max_spans) return std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> starts;
  for (timeline_span const& span : lane.spans) starts.push_back(span.start_ns);
  std::nth_element(starts.begin(), starts.begin() + max_spans, starts.end());
  return starts[max_spans];
}

double total_ns(timeline_lane const& lane, kind what) {
  double sum = 0;
  for (timeline_span const& span : lane.spans) sum += span.what == what ? static_cast<double>(span.duration_ns) : 0;
  return sum;
}

// "nothing runs 27.3 % of the time"
std::string idle_text(timeline_lane const& lane) {
  auto const end = static_cast<double>(end_of(lane));
  if (end <= 0) return "";
  double const idle = std::max(0.0, total_ns(lane, kind::bubble) - total_ns(lane, kind::side_work));
  return "nothing runs " + formatted("%.1f", 100 * idle / end) + " % of the time";
}

std::string headline(timeline const& drawn) {
  std::string text;
  if (drawn.harvest_ratio) text = formatted("%.1f", 100 * *drawn.harvest_ratio) + " % of the bubbles' time harvested";
  if (!drawn.slowdown_pct) return text.empty() ? "Training without and with side work" : text;
  text += text.empty() ? "Training took " : "; training took ";
  double const percent = *drawn.slowdown_pct;
  return text + formatted("%.2f", std::abs(percent)) + (percent < 0 ? " % less time" : " % longer");
}

std::string interval_text(timeline const& drawn) {
  if (!drawn.slowdown_pct) return "";
  if (!drawn.ci95_pct) return "one pair only: the slowdown has no interval";
  return "95 % interval of the slowdown: " + formatted("%+.2f", drawn.ci95_pct->low) + " to " +
         formatted("%+.2f", drawn.ci95_pct->high) + " %";
}

// Cut between two words, so that it fits one line.
std::string shortened(std::string const& text) {
  constexpr std::size_t longest = 150;
  if (text.size() <= longest) return text;
  std::size_t const blank = text.rfind(' ', longest);
  return text.substr(0, blank == std::string::npos ? longest : blank) + " …";
}

// ---- drawing -----------------------------------------------------------------------------------------------------

class painter {
 public:
  explicit painter(timeline const& drawn) : drawn_(drawn) {
    std::int64_t const end = std::max({end_of(drawn.without), end_of(drawn.with), std::int64_t{1}});
    std::int64_t const cut = std::min(cut_of(drawn.without), cut_of(drawn.with));
    is_cut_ = cut < end;
    shown_ns_ = static_cast<double>(std::max(std::min(cut, end), std::int64_t{1}));
  }

  std::string paint() {
    std::string const title = headline(drawn_);
    svg_.open(width, height, title, description());
    svg_.pattern("idle", "#ffffff", "#b5b5b5");
    svg_.text(left, 38, title, {.size = 24, .weight = "bold"});
    svg_.text(left, 64, shortened(drawn_.subtitle), {.size = 14, .fill = "#555555"});
    svg_.text(left, 86, interval_text(drawn_), {.size = 14, .fill = "#555555"});
    if (drawn_.cpu_time) {
      svg_.text(right, 86, cpu_time_note, {.size = 14, .fill = "#9c3d00", .weight = "bold", .anchor = "end"});
    }
    paint_time_axis(svg_, {left, right, first_lane_top, axis_top, shown_ns_});
    paint_lane(drawn_.without, "Training alone", first_lane_top);
    paint_lane(drawn_.with, drawn_.with_title, second_lane_top);
    paint_legend();
    return svg_.close();
  }

 private:
  double x_of(double ns) const { return left + (right - left) * std::min(ns, shown_ns_) / shown_ns_; }

  std::string description() const {
    std::string text = "Time line of one pipeline stage. Training alone: " + lane_text(drawn_.without) +
                       " With side work: " + lane_text(drawn_.with);
    for (std::string const& more : {drawn_.subtitle, interval_text(drawn_)}) {
      if (!more.empty()) text += " " + more + ".";
    }
    return drawn_.cpu_time ? text + " " + std::string{cpu_time_note} : text;
  }

  static std::string lane_text(timeline_lane const& lane) {
    if (lane.spans.empty()) return "nothing recorded.";
    std::string text =
        time_text(static_cast<double>(end_of(lane))) + ", of which bubbles " + time_text(total_ns(lane, kind::bubble));
    double const side = total_ns(lane, kind::side_work);
    return side > 0 ? text + ", filled with " + time_text(side) + " of side work." : text + ".";
  }

  void paint_lane(timeline_lane const& lane, std::string const& name, double top) {
    svg_.text(left, top - 28, name, {.size = 16, .weight = "bold"});
    svg_.text(right, top - 28, idle_text(lane), {.size = 16, .weight = "bold", .anchor = "end"});
    svg_.rect(left, top, right - left, lane_height, "#f6f6f6", "", "");
    // Bubbles first, side work last: what lies inside is drawn over what holds it.
    for (kind const what : {kind::bubble, kind::forward, kind::backward, kind::side_work}) {
      for (timeline_span const& span : lane.spans) {
        if (span.what == what && static_cast<double>(span.start_ns) < shown_ns_) paint_span(span, top);
      }
    }
    for (std::size_t i = 0; i < lane.iteration_starts_ns.size(); ++i) {
      auto const start = static_cast<double>(lane.iteration_starts_ns[i]);
      if (start < 0 || start >= shown_ns_) continue;
      svg_.line(x_of(start), top - 20, x_of(start), top + lane_height, "#111111");
      svg_.text(x_of(start) + 5, top - 8, "iteration " + std::to_string(i + 1), {.size = 13, .fill = "#333333"});
    }
    double const end = x_of(static_cast<double>(end_of(lane)));
    svg_.line(end, top - 8, end, top + lane_height + 4, "#111111");
  }

  void paint_span(timeline_span const& span, double top) {
    style const& look = style_of(span.what);
    auto const start = static_cast<double>(span.start_ns);
    auto const length = static_cast<double>(span.duration_ns);
    double const x = x_of(start);
    double const wide = x_of(start + length) - x;
    double const inset = span.what == kind::side_work ? side_inset : 0;
    std::string const hint = std::string{look.name} + (span.label.empty() ? "" : " " + span.label) + ", " +
                             time_text(length) + ", from " + time_text(start);
    svg_.rect(x, top + inset, wide, lane_height - 2 * inset, look.fill, wide < bordered ? "" : "#ffffff", hint);
    if (wide >= readable_label && wide >= character_width * static_cast<double>(span.label.size())) {
      svg_.text(x + wide / 2, top + lane_height / 2 + 5, span.label,
                {.size = 13, .fill = std::string{look.text}, .anchor = "middle"});
    }
  }

  void paint_legend() {
    double x = left;
    for (kind const what : {kind::forward, kind::backward, kind::bubble, kind::side_work}) {
      style const& look = style_of(what);
      svg_.rect(x, legend_top, 22, 16, look.fill, "#888888", "");
      svg_.text(x + 30, legend_top + 13, std::string{look.legend}, {.size = 14});
      x += 60 + 7.5 * static_cast<double>(look.legend.size());
    }
    std::string note = "numbers: micro-batches";
    if (is_cut_) note += "; the rest is not drawn";
    svg_.text(right, legend_top + 13, note, {.size = 14, .fill = "#555555", .anchor = "end"});
  }

  timeline const& drawn_;
  double shown_ns_ = 1;
  bool is_cut_ = false;
  svg svg_;
};

}  // namespace

std::string timeline_svg(timeline const& drawn) {
  check(drawn.without);
  check(drawn.with);
  return painter(drawn).paint();
}

void write_timeline(std::filesystem::path const& path, timeline const& drawn) { write_file(path, timeline_svg(drawn)); }

}  // namespace lull
