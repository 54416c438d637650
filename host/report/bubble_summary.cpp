// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/bubble_summary.hpp>

#include <algorithm>

namespace lull {
namespace {

latest_bubble drawn(bubble_report const& bubble, std::size_t site) {
  latest_bubble one{
      .site = site, .opened_ns = bubble.opened_ns, .length_ns = bubble.length.count(), .host_ahead = bubble.host_ahead};
  bubble_record const record = bubble.record();
  if (record.blocks == 0) return one;
  // The record's clock is the device's: only the time since the opening can be used here.
  one.work_from_ns = static_cast<std::int64_t>(record.in_ns / record.blocks);
  one.work_until_ns = std::max(one.work_from_ns, static_cast<std::int64_t>(record.last_out_ns - record.opened_ns));
  return one;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

void bubble_summary::site_state::add(site_state const& other) {
  lengths.add(other.lengths);
  unknown += other.unknown;
  total_ns += other.total_ns;
  placed += other.placed;
  placed_ns += other.placed_ns;
  first_ns = std::min(first_ns, other.first_ns);
  last_ns = std::max(last_ns, other.last_ns);
  host_known += other.host_known;
  host_ahead += other.host_ahead;
  note_free(other.min_free_bytes);
  worth_it += other.worth_it;
  harvestable_ns += other.harvestable_ns;
  side.bubbles += other.side.bubbles;
  side.items += other.side.items;
  side.chunks += other.side.chunks;
  side.handed_back += other.side.handed_back;
  side.lease_exits += other.side.lease_exits;
  side.waited += other.side.waited;
  side_ns += other.side_ns;
}

void bubble_summary::site_state::note_free(std::optional<std::uint64_t> bytes) {
  if (bytes) min_free_bytes = std::min(min_free_bytes.value_or(*bytes), *bytes);
}

std::size_t bubble_summary::find(bubble_report const& bubble) {
  auto key = std::pair{bubble.gate, bubble.site};
  auto known = index_.find(key);
  if (known == index_.end() && sites_.size() >= max_sites) {
    ++in_other_sites_;
    key.second = other_sites;
    known = index_.find(key);
  }
  if (known != index_.end()) return known->second;
  sites_.push_back({.gate = key.first, .name = key.second});
  return index_.emplace(key, sites_.size() - 1).first->second;
}

side_totals bubble_summary::side_work() const noexcept {
  side_totals all;
  double time_ns = 0;
  for (site_state const& each : sites_) {
    all.bubbles += each.side.bubbles;
    all.items += each.side.items;
    time_ns += each.side_ns;
  }
  all.time = std::chrono::nanoseconds{static_cast<std::int64_t>(time_ns)};
  return all;
}

void bubble_summary::add(bubble_report const& bubble) {
  ++seen_;
  std::size_t const found = find(bubble);
  site_state& site = sites_[found];
  site.side.waited += bubble.waited.value_or(std::chrono::nanoseconds{0});
  site.note_free(bubble.free_bytes);
  if (bubble_record const record = bubble.record(); record.blocks != 0) {
    ++site.side.bubbles;
    site.side.items += record.items;
    site.side.chunks += record.chunks;
    site.side.handed_back += record.handed_back;
    site.side.lease_exits += record.lease_blocks;
    site.side_ns += per_launched_block(bubble, &bubble_record::stay_ns);
  }
  if (bubble.length.count() <= 0) {
    ++site.unknown;
    return;
  }
  std::int64_t const length_ns = bubble.length.count();
  site.lengths.add(static_cast<std::uint64_t>(length_ns));
  site.total_ns += length_ns;
  if (bubble.host_ahead) {
    ++site.host_known;
    site.host_ahead += *bubble.host_ahead ? 1 : 0;
  }
  if (harvest_assumptions const& assumed = settings_.harvest; bubble.length >= assumed.worth) {
    ++site.worth_it;
    site.harvestable_ns += std::max(std::chrono::nanoseconds{0}, bubble.length - assumed.start - assumed.drain).count();
  }
  if (bubble.opened_ns == 0) return;
  ++site.placed;
  site.placed_ns += length_ns;
  site.first_ns = std::min(site.first_ns, bubble.opened_ns);
  site.last_ns = std::max(site.last_ns, bubble.opened_ns + length_ns);
  latest_.push_back(drawn(bubble, found));
  if (latest_.size() > max_latest) latest_.pop_front();
}

void bubble_summary::add(std::span<bubble_report const> bubbles) {
  for (bubble_report const& one : bubbles) add(one);
}

site_summary bubble_summary::figures_of(site_state const& of, site_state const& all_of_gate) {
  site_summary figures{.gate = of.gate, .site = of.name, .bubbles = of.lengths.count(), .unknown = of.unknown};
  auto const ns = [](auto count) { return std::chrono::nanoseconds{static_cast<std::int64_t>(count)}; };
  figures.p50 = ns(of.lengths.percentile_ns(500));
  figures.p99 = ns(of.lengths.percentile_ns(990));
  figures.longest = ns(of.lengths.max_ns());
  figures.total = ns(of.total_ns);
  figures.min_free_bytes = of.min_free_bytes;
  figures.worth_it = of.worth_it;
  figures.harvestable = ns(of.harvestable_ns);
  figures.side = of.side;
  figures.side.time = ns(of.side_ns);
  if (of.host_known != 0)
    figures.host_ahead = ratio(static_cast<double>(of.host_ahead), static_cast<double>(of.host_known));
  if (of.total_ns != 0) {
    figures.harvestable_of_idle = ratio(static_cast<double>(of.harvestable_ns), static_cast<double>(of.total_ns));
    figures.side.of_idle = ratio(of.side_ns, static_cast<double>(of.total_ns));
  }
  if (all_of_gate.placed == 0) return figures;
  figures.observed = ns(all_of_gate.last_ns - all_of_gate.first_ns);
  figures.share = ratio(static_cast<double>(of.placed_ns), static_cast<double>(figures.observed->count()));
  if (figures.harvestable_of_idle) figures.harvestable_a_second = *figures.share * *figures.harvestable_of_idle;
  return figures;
}

std::map<std::uint32_t, bubble_summary::site_state> bubble_summary::by_gate() const {
  std::map<std::uint32_t, site_state> gates;
  for (site_state const& site : sites_) {
    site_state& all = gates[site.gate];
    all.gate = site.gate;
    all.add(site);
  }
  return gates;
}

std::vector<site_summary> bubble_summary::sites() const {
  auto const gates = by_gate();
  std::vector<site_summary> figures;
  for (site_state const& site : sites_) figures.push_back(figures_of(site, gates.at(site.gate)));
  std::stable_sort(figures.begin(), figures.end(), [](auto const& a, auto const& b) { return a.gate < b.gate; });
  return figures;
}

std::vector<site_summary> bubble_summary::gates() const {
  std::vector<site_summary> figures;
  for (auto const& [gate, all] : by_gate()) figures.push_back(figures_of(all, all));
  return figures;
}

std::vector<std::pair<std::uint32_t, std::string>> bubble_summary::names() const {
  std::vector<std::pair<std::uint32_t, std::string>> names;
  for (site_state const& site : sites_) names.emplace_back(site.gate, site.name);
  return names;
}

std::vector<latest_bubble> bubble_summary::latest() const {
  std::vector<latest_bubble> bubbles{latest_.begin(), latest_.end()};
  std::stable_sort(bubbles.begin(), bubbles.end(),
                   [](auto const& a, auto const& b) { return a.opened_ns < b.opened_ns; });
  return bubbles;
}

std::uint64_t bubble_summary::not_latest() const noexcept {
  std::uint64_t counted = 0;
  for (site_state const& site : sites_) counted += site.lengths.count();
  return counted - latest_.size();
}

}  // namespace lull
