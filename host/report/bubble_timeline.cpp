// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include <lull/host/report/bubble_writers.hpp>
#include <lull/host/report/svg.hpp>
#include <lull/host/report/time_axis.hpp>
#include <lull/host/report/time_text.hpp>

namespace lull {
namespace {

constexpr std::size_t max_drawn = 1000;
constexpr std::size_t max_lanes = 8;
constexpr std::size_t readable = 32;  // bytes of a name
constexpr double width = 1200;
constexpr double left = 24;
constexpr double right = width - 24;
constexpr double lane_height = 48;
constexpr double lane_step = lane_height + 44;
constexpr double first_lane_top = 140;
constexpr double side_inset = 16;         // so that the bubble shows around the side work
constexpr double narrowest = 0.75;        // px, so that a bubble can be seen
constexpr std::size_t entries_a_row = 4;  // of the legend
constexpr double row_height = 26;
constexpr std::string_view others = "#bbbbbb";
constexpr std::string_view worker = "#111111";

// Okabe and Ito's colours, without black.
constexpr std::array<std::string_view, 8> colours{"#56b4e9", "#e69f00", "#009e73", "#cc79a7",
                                                  "#0072b2", "#d55e00", "#f0e442", "#7f6fc4"};

std::string percent(double share) { return formatted("%.1f", 100 * share) + " %"; }

std::string shortened(std::string const& name) {
  if (name.size() <= readable) return name;
  std::size_t end = readable;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U) --end;  // not within a character
  return name.substr(0, end) + " …";
}

std::string headline(std::vector<site_summary> const& gates) {
  double least = 1;
  double most = 0;
  for (site_summary const& gate : gates) {
    if (!gate.share) continue;
    least = std::min(least, *gate.share);
    most = std::max(most, *gate.share);
  }
  if (least > most) return "Bubbles";
  std::string const from = percent(least);
  std::string const to = percent(most);
  return from == to ? "Idle " + to + " of the time" : "Idle " + from + " to " + to + " of the time, by gate";
}

std::string lane_text(site_summary const& gate) {
  std::string text = std::to_string(gate.bubbles) + " bubbles";
  if (gate.share) text += ", " + percent(*gate.share) + " of " + time_text(static_cast<double>(gate.observed->count()));
  if (gate.harvestable_of_idle) text += "; a harvest would bring " + percent(*gate.harvestable_of_idle) + " of that";
  return text;
}

class painter {
 public:
  explicit painter(bubble_summary const& sum)
      : sum_(sum), gates_(sum.gates()), names_(sum.names()), drawn_(sum.latest()) {
    if (gates_.size() > max_lanes) gates_.resize(max_lanes);
    std::erase_if(drawn_, [this](latest_bubble const& one) { return !lane_of(one); });
    if (drawn_.size() > max_drawn) drawn_.erase(drawn_.begin(), drawn_.end() - max_drawn);
    for (auto const& [gate, site] : names_) {
      if (std::find(sites_.begin(), sites_.end(), site) == sites_.end()) sites_.push_back(site);
    }
    if (drawn_.empty()) return;
    from_ns_ = drawn_.front().opened_ns;
    for (latest_bubble const& one : drawn_) {
      std::int64_t const end = one.opened_ns + std::max(one.length_ns, one.work_until_ns);
      shown_ns_ = std::max(shown_ns_, static_cast<double>(end - from_ns_));
    }
  }

  std::string paint() {
    double const axis_top =
        first_lane_top + lane_step * static_cast<double>(std::max<std::size_t>(gates_.size(), 1)) - 30;
    double const legend_top = axis_top + 46;
    std::vector<entry> const entries = legend();
    std::size_t const rows = (entries.size() + entries_a_row - 1) / entries_a_row;
    std::string const title = headline(gates_);
    svg_.open(width, legend_top + row_height * static_cast<double>(rows) + 14, title, description());
    svg_.text(left, 38, title, {.size = 24, .weight = "bold"});
    svg_.text(left, 64, extent_text(), {.size = 14, .fill = "#555555"});
    if (sum_.settings().cpu_time) {
      svg_.text(left, 86, cpu_time_note, {.size = 14, .fill = "#9c3d00", .weight = "bold"});
    }
    paint_time_axis(svg_, {left, right, first_lane_top, axis_top, shown_ns_});
    for (std::size_t lane = 0; lane < gates_.size(); ++lane) {
      double const top = top_of(lane);
      svg_.text(left, top - 10, "gate " + std::to_string(gates_[lane].gate), {.size = 16, .weight = "bold"});
      svg_.text(right, top - 10, lane_text(gates_[lane]), {.size = 14, .fill = "#333333", .anchor = "end"});
      svg_.rect(left, top, right - left, lane_height, "#f6f6f6", "", "");
    }
    for (latest_bubble const& one : drawn_) paint_bubble(one);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      double const x = left + (right - left) / entries_a_row * static_cast<double>(i % entries_a_row);
      double const y = legend_top + row_height * static_cast<double>(i / entries_a_row);
      svg_.rect(x, y, 22, 16, entries[i].fill, "#888888", "");
      svg_.text(x + 30, y + 13, entries[i].text, {.size = 14});
    }
    return svg_.close();
  }

 private:
  static double top_of(std::size_t lane) { return first_lane_top + lane_step * static_cast<double>(lane); }
  double x_of(double ns) const { return left + (right - left) * ns / shown_ns_; }

  std::optional<std::size_t> lane_of(latest_bubble const& one) const {
    for (std::size_t lane = 0; lane < gates_.size(); ++lane) {
      if (gates_[lane].gate == names_[one.site].first) return lane;
    }
    return std::nullopt;
  }

  std::string_view colour_of(std::string const& site) const {
    auto const at = static_cast<std::size_t>(std::find(sites_.begin(), sites_.end(), site) - sites_.begin());
    return at < colours.size() ? colours[at] : others;
  }

  std::string extent_text() const {
    if (drawn_.empty()) return "No bubble of known length and moment was seen.";
    std::uint64_t const all = sum_.latest().size() + sum_.not_latest();
    std::string const over = " bubbles, over " + time_text(shown_ns_);
    if (drawn_.size() == all) return "All " + std::to_string(all) + over;
    return "The latest " + std::to_string(drawn_.size()) + " of " + std::to_string(all) + over +
           "; the figures are of all";
  }

  std::string description() const {
    std::string text = extent_text() + ".";
    for (site_summary const& gate : gates_) text += " Gate " + std::to_string(gate.gate) + ": " + lane_text(gate) + ".";
    return sum_.settings().cpu_time ? text + " " + std::string{cpu_time_note} : text;
  }

  void paint_bubble(latest_bubble const& one) {
    std::string const& site = names_[one.site].second;
    auto const start = static_cast<double>(one.opened_ns - from_ns_);
    auto const length = static_cast<double>(one.length_ns);
    double const top = top_of(*lane_of(one));
    std::string hint = site + ", " + time_text(length) + ", from " + time_text(start);
    if (one.host_ahead) hint += *one.host_ahead ? ", host ahead" : ", host late";
    svg_.rect(x_of(start), top, std::max(narrowest, x_of(start + length) - x_of(start)), lane_height, colour_of(site),
              "", hint);
    if (one.work_until_ns <= one.work_from_ns) return;
    double const from = x_of(start + static_cast<double>(one.work_from_ns));
    double const until = x_of(start + static_cast<double>(one.work_until_ns));
    svg_.rect(from, top + side_inset, until - from, lane_height - 2 * side_inset, worker, "", "side work");
  }

  struct entry {
    std::string_view fill;
    std::string text;
  };

  std::vector<entry> legend() const {
    std::size_t const named = std::min(sites_.size(), colours.size());
    std::vector<entry> entries;
    for (std::size_t i = 0; i < named; ++i) entries.push_back({colours[i], shortened(sites_[i])});
    if (sites_.size() > named) entries.push_back({others, std::to_string(sites_.size() - named) + " further sites"});
    bool const worked =
        std::any_of(drawn_.begin(), drawn_.end(), [](latest_bubble const& one) { return one.work_until_ns != 0; });
    if (worked) entries.push_back({worker, "side work"});
    return entries;
  }

  bubble_summary const& sum_;
  std::vector<site_summary> gates_;
  std::vector<std::pair<std::uint32_t, std::string>> names_;
  std::vector<latest_bubble> drawn_;
  std::vector<std::string> sites_;  // by first sight; alike at all gates
  std::int64_t from_ns_ = 0;
  double shown_ns_ = 1;
  svg svg_;
};

}  // namespace

std::string bubble_timeline(bubble_summary const& sum) { return painter(sum).paint(); }

}  // namespace lull
