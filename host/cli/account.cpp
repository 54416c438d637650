// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cli/account.hpp>

#include <algorithm>

namespace lull {
namespace {

double us(double ns) { return ns / 1e3; }

/// Adds up one bubble that a worker was launched in. `reach`: what the processors that are not kept off do, of what all do.
class one_bubble {
 public:
  one_bubble(replayed_bubble const& bubble, double reach, double wait_share)
      : record_(bubble.harvested->record),
        blocks_(static_cast<double>(std::max<std::uint64_t>(1, bubble.harvested->blocks))),
        length_ns_(std::max(0.0, static_cast<double>(bubble.moments.end_ns) - static_cast<double>(record_.opened_ns))),
        weight_(reach / blocks_),
        wait_share_(wait_share) {}

  double length_ns() const noexcept { return length_ns_; }

  template <class Lose>
  void account(Lose&& lose) const {
    auto const came = static_cast<double>(record_.blocks);
    auto const early = static_cast<double>(record_.lease_blocks + record_.held_blocks + record_.idle_blocks);
    // A successor's blocks come when the others have left; what those lost is what it had not yet found.
    double const second = std::max(0.0, came - blocks_) * length_ns_;
    lose(lost_cause::start, us(static_cast<double>(record_.in_ns) * weight_));
    double const wait_ns = static_cast<double>(record_.wait_ns) - wait_share_ * static_cast<double>(record_.stay_ns);
    lose(lost_cause::phase_wait, us(std::max(0.0, wait_ns) * weight_));
    if (early > 0) {
      double const left_ns = std::max(0.0, early * length_ns_ - static_cast<double>(record_.early_ns) - second);
      lose(lost_cause::lease, us(left_ns * weight_) * record_.lease_blocks / early);
      lose(lost_cause::held, us(left_ns * weight_) * record_.held_blocks / early);
      lose(lost_cause::no_job, us(left_ns * weight_) * record_.idle_blocks / early);
    } else if (came > 0) {
      double const over_ns = static_cast<double>(record_.in_ns + record_.stay_ns) - came * length_ns_;
      lose(lost_cause::drain, us(std::max(0.0, over_ns) * weight_));
    }
    if (record_.lease_blocks == 0 && came == 0 && early == 0) lose(lost_cause::host_late, us(length_ns_ * weight_ * blocks_));
  }

 private:
  bubble_record const& record_;
  double blocks_;
  double length_ns_;
  double weight_;
  double wait_share_;
};

}  // namespace

harvest_account account_of(std::vector<replayed_bubble> const& bubbles, alone_speed const& alone) {
  harvest_account sum;
  for (auto& each : sum.gain.lost_us) each = 0;
  bool const known = alone.items_per_s > 0;
  double const reach = known ? std::min(1.0, alone.items_per_s_with_rooms / alone.items_per_s) : 1;
  double total_us = 0;
  double explained_us = 0;
  auto const lose = [&](lost_cause cause, double lost) {
    *sum.gain.lost(cause) += lost;
    explained_us += lost;
  };
  std::vector<double> drain;
  std::vector<double> start;
  std::uint64_t harvested = 0;
  for (replayed_bubble const& one : bubbles) {
    if (!one.harvested) {
      double const length_us = us(static_cast<double>(one.moments.end_ns - one.moments.begin_ns));
      total_us += length_us;
      lose(one.cause.value_or(lost_cause::host_late), length_us);
      continue;
    }
    bubble_record const& record = one.harvested->record;
    one_bubble const bubble{one, reach, alone.wait_share};
    total_us += us(bubble.length_ns());
    lose(lost_cause::rooms, us(bubble.length_ns()) * (1 - reach));
    bubble.account(lose);
    harvested += record.items != 0 ? 1 : 0;
    sum.items += record.items;
    sum.chunks += record.chunks;
    sum.lease_blocks += record.lease_blocks;
    if (record.not_saw_ns != 0 && record.blocks != 0 && record.last_out_ns > one.moments.end_ns) {
      drain.push_back(us(static_cast<double>(record.last_out_ns - one.moments.end_ns)));
    }
    bool const alone_in_it = record.blocks != 0 && record.idle_blocks == 0;  // no successor came in later
    if (alone_in_it) start.push_back(us(static_cast<double>(record.last_in_ns - record.opened_ns)));
  }
  sum.drain_us = summarise(drain);
  sum.start_us = summarise(start);
  sum.bubbles = {bubbles.size(), harvested, bubbles.size() - harvested, total_us / 1e3};
  if (!known || total_us == 0) {
    for (auto& each : sum.gain.lost_us) each.reset();
    return sum;
  }
  double const worth_us = static_cast<double>(sum.items) / alone.items_per_s * 1e6;
  sum.gain.ratio = worth_us / total_us;
  if (alone.items_per_s_with_rooms > 0) {
    sum.gain.ratio_without_rooms = static_cast<double>(sum.items) / alone.items_per_s_with_rooms * 1e6 / total_us;
  }
  double const rest_us = total_us - worth_us - explained_us;
  *sum.gain.lost(lost_cause::slower) = std::max(0.0, rest_us);
  sum.unexplained_us = std::max(0.0, -rest_us);
  return sum;
}

}  // namespace lull
