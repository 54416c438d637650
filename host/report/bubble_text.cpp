// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <lull/host/report/bubble_writers.hpp>
#include <lull/host/report/time_text.hpp>

namespace lull {
namespace {

constexpr std::size_t name_width = 22;
constexpr std::size_t count_width = 9;
constexpr std::size_t time_width = 10;
constexpr std::size_t share_width = 8;
constexpr std::size_t rate_width = 11;
constexpr std::size_t items_width = 14;

/// Of UTF-8: characters, which are its bytes but for those that go on with one.
bool begins(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

std::string right(std::string const& text, std::size_t width) {
  std::size_t const taken = columns(text);
  return std::string(taken < width ? width - taken : 1, ' ') + text;
}

/// What a site is called, in a line of text.
std::string shortened(std::string text, std::size_t width) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7f; }, '?');
  if (columns(text) > width) {
    std::size_t end = 0;
    for (std::size_t taken = 0; taken + 3 < width || !begins(text[end]); ++end) taken += begins(text[end]) ? 1 : 0;
    text = text.substr(0, end) + "...";
  }
  return text;
}

/// In exactly as many columns, on one line.
std::string left(std::string text, std::size_t width) {
  text = shortened(std::move(text), width);
  return text + std::string(width - columns(text), ' ');
}

std::string time(std::chrono::nanoseconds length) { return time_text(static_cast<double>(length.count())); }

std::string percent(std::optional<double> share) { return share ? percent_text(*share) : "-"; }

std::string rate(std::optional<double> share) { return share ? formatted("%.1f ms/s", 1000 * *share) : "-"; }

std::string heading() {
  return "  " + left("site", name_width) + right("count", count_width) + right("p50", time_width) +
         right("p99", time_width) + right("total", time_width) + right("share", share_width) +
         right("ahead", share_width) + right("harvest", rate_width) + right("of idle", share_width) + "\n";
}

std::string row(site_summary const& of) {
  auto const known = [&](std::chrono::nanoseconds length) { return of.bubbles != 0 ? time(length) : "-"; };
  return "  " + left(of.site.empty() ? "(all)" : of.site, name_width) + right(std::to_string(of.bubbles), count_width) +
         right(known(of.p50), time_width) + right(known(of.p99), time_width) + right(known(of.total), time_width) +
         right(percent(of.share), share_width) + right(percent(of.host_ahead), share_width) +
         right(rate(of.harvestable_a_second), rate_width) + right(percent(of.harvestable_of_idle), share_width) + "\n";
}

std::string side_heading() {
  return "  " + left("side work at", name_width) + right("bubbles", count_width) + right("GPU time", time_width) +
         right("of idle", time_width) + right("items", items_width) + right("chunks", items_width) +
         right("handed back", items_width) + "\n";
}

std::string side_row(site_summary const& of) {
  site_summary::side_work const& side = of.side;
  return "  " + left(of.site, name_width) + right(std::to_string(side.bubbles), count_width) +
         right(time(side.time), time_width) + right(percent(side.of_idle), time_width) +
         right(std::to_string(side.items), items_width) + right(std::to_string(side.chunks), items_width) +
         right(std::to_string(side.handed_back), items_width) + "\n";
}

std::string gate_table(site_summary const& all, std::vector<site_summary> const& sites) {
  std::string text = "gate " + std::to_string(all.gate) + ": ";
  if (all.observed) {
    text += percent(all.share) + " idle of " + time(*all.observed) + " from its first opening to its last close";
  } else {
    text += std::to_string(all.bubbles) + " bubbles";
  }
  text += "\n" + heading();
  for (site_summary const& site : sites) {
    if (site.gate == all.gate) text += row(site);
  }
  text += row(all);
  if (all.unknown != 0)
    text += "  bubbles of unknown length, in no figure above: " + std::to_string(all.unknown) + "\n";
  if (all.side.bubbles != 0) text += side_heading();
  for (site_summary const& site : sites) {
    if (site.gate == all.gate && site.side.bubbles != 0) text += side_row(site);
  }
  return text + "\n";
}

/// Empty where side work has all SMs.
std::string reserved(bubble_summary const& sum) {
  auto const& told = sum.reserved();
  if (!told || told->for_workers == told->processors) return {};
  std::string text = "Side work keeps off " + std::to_string(told->processors - told->for_workers) + " of " +
                     std::to_string(told->processors) + " SMs";
  if (told->raised != 0) {
    text += ": since " + std::to_string(told->raised) + (told->raised == 1 ? " time" : " times") +
            " a kernel of training waited for it, last in\n'" + shortened(told->raised_at, name_width) +
            "', 8 more each time";
  }
  return text + ".\n\n";
}

std::string legend(bubble_summary const& sum) {
  harvest_assumptions const& assumed = sum.settings().harvest;
  return "share: of the time from the gate's first opening to its last close. ahead: bubbles whose end the\n"
         "host had enqueued before the stream came to it. harvest: GPU time in a second that side work would\n"
         "get, on the SMs that workers may use, if each bubble of " +
         time(assumed.worth) + " or more brought its length\nless " + time(assumed.start + assumed.drain) +
         " for start and drain; of idle: the same, as a share of the total.\nPercentiles are within " +
         formatted("%.1f", 100 * length_histogram::relative_error) + " %. -: not known.\n";
}

}  // namespace

std::string bubble_text(bubble_summary const& sum) {
  if (sum.seen() == 0) return "No bubble was seen.\n";
  std::vector<site_summary> const sites = sum.sites();
  std::string text;
  if (sum.settings().cpu_time) text += std::string{cpu_time_note} + "\n\n";
  for (site_summary const& gate : sum.gates()) text += gate_table(gate, sites);
  return text + reserved(sum) + legend(sum);
}

}  // namespace lull
