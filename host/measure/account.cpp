// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/account.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <valarray>

namespace lull {
namespace {

constexpr std::array<std::string_view, lost_causes> cause_names{
    "start", "drain",           "host_late", "too_short", "no_job",   "starved", "phase_wait",
    "lease", "reserved_groups", "grain",     "held",      "withheld", "slower"};

double us(double ns) { return ns / 1e3; }

using losses = std::valarray<double>;  // (lost_causes,)

std::size_t index_of(lost_cause cause) { return static_cast<std::size_t>(cause); }

/// From the opening edge to the end of the trainer's own wait.
double length_ns(replayed_bubble const& one) {
  return std::max(0.0,
                  static_cast<double>(one.moments.end_ns) - static_cast<double>(one.harvested->record().opened_ns));
}

/// Why blocks leave before the close.
constexpr std::array early_causes{std::pair{lost_cause::lease, &bubble_record::lease_blocks},
                                  std::pair{lost_cause::held, &bubble_record::held_blocks},
                                  std::pair{lost_cause::no_job, &bubble_record::idle_blocks},
                                  std::pair{lost_cause::starved, &bubble_record::starved_blocks}};

/// Returns how many blocks left early. `share` gives a sum over blocks as a share of the machine.
double left_early(auto const& share) {
  double all = 0;
  for (auto const& [cause, blocks] : early_causes) all += share(blocks);
  return all;
}

/// Adds what was missed to the causes, by the blocks that each has.
void charge(double missed, auto const& share, losses& lost) {
  double const all = left_early(share);
  for (auto const& [cause, blocks] : early_causes) {
    if (all > 0) lost[index_of(cause)] += missed * share(blocks) / all;
  }
}

/// What the blocks of one bubble lost, in ns of the whole machine.
losses lost_by_blocks(replayed_bubble const& one, double wait_share) {
  bubble_report const& report = *one.harvested;
  bubble_record const record = report.record();
  double const length = length_ns(one);
  auto const of_both = [&](auto sum) { return per_launched_block(report, sum); };
  auto const of_successor = [&](auto sum) {
    worker_report const& successor = report.successor;
    return successor.launched == 0
               ? 0.0
               : static_cast<double>(successor.record.*sum) / static_cast<double>(successor.launched);
  };
  auto const of_current = [&](auto sum) { return of_both(sum) - of_successor(sum); };
  double const came = of_both(&bubble_record::blocks);
  double const early = left_early(of_both);
  double const in = of_both(&bubble_record::in_ns);
  double const stay = of_both(&bubble_record::stay_ns);
  losses lost(lost_causes);

  // Blocks that leave early miss the rest, unless a successor's make good for them. Those start late; until then the
  // others may have worked, and that time stands in the sums twice. How long they stayed after the
  // close is known of the last one alone.
  double const behind =
      std::max(0.0, static_cast<double>(record.last_out_ns) - static_cast<double>(one.moments.end_ns));
  // No third job makes good for a successor's.
  double const after_successor =
      std::max(0.0, left_early(of_successor) * length - of_successor(&bubble_record::early_ns));
  double const nobodys = length - in - std::max(0.0, stay - behind) - after_successor;
  double const without_others = std::max(after_successor, early * length - of_both(&bubble_record::early_ns));
  bool const may_be_replaced = record.idle_blocks + record.starved_blocks != 0;
  double const missed =
      may_be_replaced ? after_successor + std::clamp(nobodys, 0.0, without_others - after_successor) : without_others;
  lost[index_of(lost_cause::start)] = may_be_replaced ? std::max(0.0, in + std::min(0.0, nobodys)) : in;
  charge(after_successor, of_successor, lost);
  charge(missed - after_successor, of_current, lost);

  // Whose blocks came when the bubble was over had been launched too late; who came in time and found nothing had not
  // started.
  double const absent = early == 0    ? std::max(0.0, 1 - came)
                        : length == 0 ? 0
                                      : std::max(0.0, nobodys + after_successor - missed) / length;
  double const late = std::min(absent, of_both(&bubble_record::late_blocks));
  lost[index_of(lost_cause::host_late)] = late * length;
  if (came == 0) lost[index_of(lost_cause::start)] += (absent - late) * length;

  double const waited = of_both(&bubble_record::wait_ns);
  lost[index_of(lost_cause::phase_wait)] = waited - wait_share * stay;
  double const after_close = early == 0 ? std::max(0.0, in + stay - came * length) : 0;
  lost[index_of(lost_cause::drain)] = after_close;

  // The close meets a chunk in its middle, on average: so much of each that is started again was for nothing.
  double const begun_anew = static_cast<double>(record.handed_back) + record.refused;
  if (begun_anew != 0) {
    double const halves = 2 * (static_cast<double>(record.chunks) - record.refused) + begun_anew;
    lost[index_of(lost_cause::grain)] = std::max(0.0, stay - waited - after_close) * begun_anew / halves;
  }
  return lost;
}

}  // namespace

std::string_view name_of(lost_cause cause) noexcept { return cause_names[static_cast<std::size_t>(cause)]; }

solo_speed mixed(std::vector<task_part> const& parts) {
  if (parts.size() == 1) return parts.front().solo;
  double items = 0;
  double seconds = 0;
  double seconds_beside_reserved = 0;
  double waits = 0;
  for (task_part const& each : parts) {
    if (each.items == 0) continue;
    if (each.solo.items_per_s <= 0 || each.solo.items_per_s_beside_reserved <= 0) return {};
    double const done = static_cast<double>(each.items);
    items += done;
    seconds += done / each.solo.items_per_s;
    seconds_beside_reserved += done / each.solo.items_per_s_beside_reserved;
    waits += each.solo.wait_share * done / each.solo.items_per_s_beside_reserved;
  }
  if (items == 0) return parts.empty() ? solo_speed{} : parts.front().solo;  // nothing was done: any speed says so
  return {items / seconds, items / seconds_beside_reserved, waits / seconds_beside_reserved};
}

harvest_account account_of(std::vector<replayed_bubble> const& bubbles, solo_speed const& solo) {
  harvest_account sum;
  bool const known = solo.items_per_s > 0;
  double const reach = known ? std::min(1.0, solo.items_per_s_beside_reserved / solo.items_per_s) : 1;
  double total_us = 0;
  losses lost_us(lost_causes);
  std::vector<double> drain;
  std::vector<double> start;
  std::vector<double> sm_mhz;
  std::uint64_t harvested = 0;
  for (replayed_bubble const& one : bubbles) {
    if (!one.harvested) {
      double const length_us = us(static_cast<double>(one.moments.end_ns - one.moments.begin_ns));
      total_us += length_us;
      lost_us[index_of(one.cause.value_or(lost_cause::host_late))] += length_us;
      continue;
    }
    bubble_record const record = one.harvested->record();
    double const length_us = us(length_ns(one));
    total_us += length_us;
    if (one.harvested->current.launched == 0 && record.blocks == 0) {  // the job went before its worker was launched
      lost_us[index_of(one.cause.value_or(lost_cause::no_job))] += length_us;
      continue;
    }
    lost_us[index_of(lost_cause::reserved_groups)] += length_us * (1 - reach);
    lost_us += us(reach) * lost_by_blocks(one, solo.wait_share);
    if (one.moments.sm_mhz) sm_mhz.push_back(*one.moments.sm_mhz);
    harvested += record.items != 0 ? 1 : 0;
    sum.items += record.items;
    sum.lease_blocks += record.lease_blocks;
    if (record.not_saw_ns != 0 && record.blocks != 0 && record.last_out_ns > one.moments.end_ns) {
      drain.push_back(us(static_cast<double>(record.last_out_ns - one.moments.end_ns)));
    }
    // No successor came in later.
    bool const solo_in_it = record.blocks != 0 && record.idle_blocks + record.starved_blocks == 0;
    if (solo_in_it) start.push_back(us(static_cast<double>(record.last_in_ns - record.opened_ns)));
  }
  sum.drain_us = summarise(drain);
  sum.start_us = summarise(start);
  sum.gain.bubbles_sm_mhz = summarise(sm_mhz).p50;
  sum.bubbles = {bubbles.size(), harvested, bubbles.size() - harvested, total_us / 1e3};
  if (!known || total_us == 0) return sum;

  double const worth_us = static_cast<double>(sum.items) / solo.items_per_s * 1e6;
  sum.gain.ratio = worth_us / total_us;
  if (solo.items_per_s_beside_reserved > 0) {
    sum.gain.ratio_excluding_reserved =
        static_cast<double>(sum.items) / solo.items_per_s_beside_reserved * 1e6 / total_us;
  }
  lost_us[index_of(lost_cause::phase_wait)] = std::max(0.0, lost_us[index_of(lost_cause::phase_wait)]);
  lost_us[index_of(lost_cause::slower)] = total_us - worth_us - lost_us.sum();
  std::copy(std::begin(lost_us), std::end(lost_us), sum.gain.lost_us.begin());
  return sum;
}

}  // namespace lull
