// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <lull/host/io/host_memory.hpp>
#include <lull/host/io/wrapped.hpp>
#include <lull/host/report/bubble_writers.hpp>
#include <lull/host/report/step_writers.hpp>
#include <lull/host/report/time_text.hpp>

namespace lull {
namespace {

constexpr std::size_t width = 100;
constexpr std::size_t name_width = 22;
constexpr std::size_t meaning_width = 13;
constexpr std::size_t count_width = 9;
constexpr std::size_t time_width = 10;
constexpr std::size_t share_width = 8;
constexpr std::size_t rate_width = 11;
constexpr std::size_t items_width = 14;

/// Fits the text into exactly this many columns, on one line.
std::string left(std::string text, std::size_t width) {
  text = shortened(std::move(text), width);
  return text + std::string(width - columns(text), ' ');
}

/// Returns a word of the table and its meaning, one below the other.
std::string meaning(std::string const& word, std::string const& what) {
  return "  " + left(word, meaning_width) + wrapped(what, width, 2 + meaning_width);
}

std::string time(std::chrono::nanoseconds length) { return time_text(static_cast<double>(length.count())); }

std::string percent(std::optional<double> share) { return share ? percent_text(*share) : "-"; }

std::string rate(std::optional<double> share) { return share ? formatted("%.1f ms/s", 1000 * *share) : "-"; }

std::string heading() {
  return "  " + left("site", name_width) + right_aligned("count", count_width) + right_aligned("p50", time_width) +
         right_aligned("p99", time_width) + right_aligned("total", time_width) + right_aligned("share", share_width) +
         right_aligned("ahead", share_width) + right_aligned("harvest", rate_width) +
         right_aligned("of idle", share_width) + "\n";
}

std::string row(site_summary const& of) {
  auto const known = [&](std::chrono::nanoseconds length) { return of.bubbles != 0 ? time(length) : "-"; };
  return "  " + left(of.site.empty() ? "(all)" : of.site, name_width) +
         right_aligned(std::to_string(of.bubbles), count_width) + right_aligned(known(of.p50), time_width) +
         right_aligned(known(of.p99), time_width) + right_aligned(known(of.total), time_width) +
         right_aligned(percent(of.share), share_width) + right_aligned(percent(of.host_ahead), share_width) +
         right_aligned(rate(of.harvestable_a_second), rate_width) +
         right_aligned(percent(of.harvestable_of_idle), share_width) + "\n";
}

/// Returns "GPU time", or CPU time on threads.
std::string_view time_of_work(bubble_summary const& sum) { return sum.settings().cpu_time ? "time" : "GPU time"; }

std::string side_heading(std::string_view time_of_work) {
  return "  " + left("side work at", name_width) + right_aligned("bubbles", count_width) +
         right_aligned(std::string{time_of_work}, time_width) + right_aligned("of idle", time_width) +
         right_aligned("items", items_width) + right_aligned("chunks", items_width) +
         right_aligned("handed back", items_width) + "\n";
}

std::string side_row(site_summary const& of) {
  site_summary::side_work const& side = of.side;
  return "  " + left(of.site, name_width) + right_aligned(std::to_string(side.bubbles), count_width) +
         right_aligned(time(side.time), time_width) + right_aligned(percent(side.of_idle), time_width) +
         right_aligned(std::to_string(side.items), items_width) +
         right_aligned(std::to_string(side.chunks), items_width) +
         right_aligned(std::to_string(side.handed_back), items_width) + "\n" +
         (side.of_idle.value_or(0) > 1 ? "    above 100 %: blocks count until they are out, which is after the close\n"
                                       : "");
}

/// Returns nothing if unknown.
std::string free_memory_line(site_summary const& gate, std::vector<site_summary> const& sites) {
  site_summary const* least = nullptr;
  site_summary const* most = nullptr;
  for (site_summary const& site : sites) {
    if (site.gate != gate.gate || !site.min_free_bytes) continue;
    if (least == nullptr || *site.min_free_bytes < *least->min_free_bytes) least = &site;
    if (most == nullptr || *site.min_free_bytes > *most->min_free_bytes) most = &site;
  }
  if (least == nullptr) return {};
  auto const told = [](site_summary const& site) {
    return bytes_text(*site.min_free_bytes) + " at '" + shortened(site.site, name_width) + "'";
  };
  return "  least device memory free: " + told(*least) + (most != least ? " to " + told(*most) : "") + "\n";
}

std::string gate_table(site_summary const& all, std::vector<site_summary> const& sites, std::string_view time_of_work) {
  auto const here = std::count_if(sites.begin(), sites.end(), [&](auto const& site) { return site.gate == all.gate; });
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
  if (here > 1) text += row(all);
  if (all.unknown != 0)
    text += "  bubbles of unknown length, in no figure above: " + std::to_string(all.unknown) + "\n";
  text += free_memory_line(all, sites);
  if (all.side.bubbles != 0) text += side_heading(time_of_work);
  for (site_summary const& site : sites) {
    if (site.gate == all.gate && site.side.bubbles != 0) text += side_row(site);
  }
  return text + "\n";
}

/// Returns nothing if side work has all SMs.
std::string reserved(bubble_summary const& sum) {
  auto const& told = sum.reserved();
  if (!told || told->for_workers == told->processors) return {};
  std::string text = "Side work keeps off " + std::to_string(told->processors - told->for_workers) + " of " +
                     std::to_string(told->processors) + " SMs.";
  if (told->groups_added != 0) {
    bool const one = told->groups_added == 1;
    text += " " + std::to_string(told->groups_added) + (one ? " group of 8 of them was" : " groups of 8 of them were") +
            " added since " + (one ? "a kernel" : "kernels") + " of training waited for side work, last at '" +
            shortened(told->last_added_at, name_width) + "'.";
  }
  return wrapped(text, width) + "\n";
}

/// Returns for example "1410 to 1980 MHz (1730 in the mean)".
std::string spread(gpu_summary::spread const& of, std::string const& unit) {
  std::string const range = formatted("%.0f", of.least()) + " to " + formatted("%.0f ", of.most()) + unit;
  return range + formatted(" (%.0f in the mean)", of.mean());
}

/// Returns nothing if unknown.
std::string gpu(bubble_summary const& sum) {
  auto const& told = sum.gpu();
  if (!told) return {};
  std::string figures;
  auto const add = [&](std::string const& more) { figures += (figures.empty() ? "" : ", ") + more; };
  if (told->sm_mhz.samples() != 0) add(spread(told->sm_mhz, "MHz"));
  if (told->power_w.samples() != 0) {
    add(spread(told->power_w, "W"));
    if (told->power_limit_w) figures += formatted(" of %.0f W allowed", *told->power_limit_w);
  }
  if (told->temperature_c.samples() != 0) add(spread(told->temperature_c, "°C"));
  if (told->power_capped.samples() != 0)
    add("clocks held down by power in " + percent_text(told->power_capped.mean()) + " of the samples");
  if (figures.empty()) return {};
  return wrapped("The GPU's SMs and its power, by " + std::to_string(told->samples) +
                     (told->samples == 1 ? " sample: " : " samples: ") + figures + ".",
                 width) +
         "\n";
}

/// Returns a line for each worker of another process.
std::string workers(bubble_summary const& sum) {
  std::string text;
  for (worker_summary const& each : sum.workers()) {
    std::string jobs;
    for (std::string const& job : each.jobs) jobs += (jobs.empty() ? "" : ", ") + job;
    text += wrapped("Process " + std::to_string(each.process) + " (" + each.name + (each.attached ? "" : ", has gone") +
                        ") worked in " + std::to_string(each.bubbles) + " bubbles for " + time(each.time) + ", " +
                        std::to_string(each.items) + " items" + (jobs.empty() ? "" : "; next: " + jobs) + ".",
                    width) +
            "\n";
  }
  return text;
}

/// Returns nothing without a bound on slowdown.
std::string bound(bubble_summary const& sum) {
  std::string const text = bound_text(sum.steps());
  return text.empty() ? text : wrapped(text + ".", width) + "\n";
}

/// The sum over all gates.
struct summed {
  std::chrono::nanoseconds idle{0};
  std::chrono::nanoseconds harvestable{0};
  std::chrono::nanoseconds worked{0};
  std::uint64_t bubbles = 0;
  std::uint64_t worth_it = 0;
  std::uint64_t worked_in = 0;
  std::size_t gates = 0;
  std::optional<double> min_share{};
  std::optional<double> max_share{};
};

summed sum_of(std::vector<site_summary> const& gates) {
  summed all;
  for (site_summary const& gate : gates) {
    ++all.gates;
    all.idle += gate.total;
    all.harvestable += gate.harvestable;
    all.worked += gate.side.time;
    all.bubbles += gate.bubbles + gate.unknown;
    all.worth_it += gate.worth_it;
    all.worked_in += gate.side.bubbles;
    if (gate.share) {
      all.min_share = std::min(all.min_share.value_or(*gate.share), *gate.share);
      all.max_share = std::max(all.max_share.value_or(*gate.share), *gate.share);
    }
  }
  return all;
}

std::string legend(bubble_summary const& sum, summed const& all, bool knows_all) {
  harvest_assumptions const& assumed = sum.settings().harvest;
  bool const on_gpu = !sum.settings().cpu_time;
  std::string text =
      meaning("site", "a bubble's place in the step; a bubble is idle time on a trainer's stream") +
      meaning("gate", "all bubbles of one stream, or of all graphs captured on it") +
      meaning("count, total", "bubbles, and their lengths added up") +
      meaning("share", "of the time from the gate's first opening to its last close") +
      meaning("ahead", "bubbles whose end the host had enqueued before the stream reached its opening") +
      meaning("harvest", std::string{on_gpu ? "GPU time" : "time"} + " in a second that side work would get" +
                             (on_gpu ? " on the SMs that workers may use" : "") + ": of each bubble of " +
                             time(assumed.worth) + " or more its length, less " + time(assumed.start + assumed.drain) +
                             " for start and drain") +
      meaning("of idle", "the same, as a share of the total");
  if (all.worked_in != 0) {
    text += meaning(std::string{time_of_work(sum)},
                    "of side work, from a block's first chunk until it is out, averaged over the blocks") +
            meaning("handed back", "chunks given up unfinished when the bubble closed, to be done in a later one");
  }
  if (!knows_all) text += meaning("-", "not known");
  return text + meaning("p50, p99", "within " + formatted("%.1f", 100 * length_histogram::relative_error) + " %");
}

std::string closing_sentence(bubble_summary const& sum, summed const& all) {
  std::string const idle_time = sum.settings().cpu_time ? "idle time" : "idle GPU time";
  std::string text = "No bubble's length is known";
  if (all.min_share) {
    std::string const from = percent(all.min_share);
    std::string const to = percent(all.max_share);
    text = all.gates == 1 ? "The trainer's stream was idle " : "The trainer's streams were idle ";
    text += (from == to ? from : from + " to " + to) + " of the time";
  }
  auto const share = [&](std::chrono::nanoseconds part) {
    double const of_idle = static_cast<double>(part.count()) / static_cast<double>(all.idle.count());
    return (of_idle > 1 ? "all" : percent(of_idle)) + " of the " + idle_time;
  };
  bool const measured = all.idle.count() != 0;
  if (all.worked_in != 0) {
    return text + (measured ? "; side work used " + share(all.worked) + "," : "; side work ran") + " in " +
           std::to_string(all.worked_in) + " of " + std::to_string(all.bubbles) +
           (all.bubbles == 1 ? " bubble." : " bubbles.");
  }
  std::uint64_t by_others = 0;
  for (worker_summary const& each : sum.workers()) by_others += each.bubbles;
  if (by_others != 0) return text + "; side work of other processes ran in " + std::to_string(by_others) + " bubbles.";
  text += "; no side work ran.";
  if (measured && all.worth_it == 0)
    text += " No bubble was long enough for it (" + time(sum.settings().harvest.worth) + ").";
  if (all.worth_it != 0) text += " It could have used " + share(all.harvestable) + ".";
  return text;
}

}  // namespace

std::string bubble_text(bubble_summary const& sum) {
  if (sum.seen() == 0) return "No bubble was seen.\n";
  std::vector<site_summary> const sites = sum.sites();
  std::vector<site_summary> const gates = sum.gates();
  std::string text;
  if (sum.settings().cpu_time) text += std::string{cpu_time_note} + "\n\n";
  for (site_summary const& gate : gates) text += gate_table(gate, sites, time_of_work(sum));
  bool const knows_all = std::all_of(sites.begin(), sites.end(), [](site_summary const& site) {
    return site.share && site.host_ahead && site.harvestable_of_idle;
  });
  summed const all = sum_of(gates);
  return text + reserved(sum) + gpu(sum) + workers(sum) + bound(sum) + legend(sum, all, knows_all) + "\n" +
         wrapped(closing_sentence(sum, all), width);
}

}  // namespace lull
