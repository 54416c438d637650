// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/tests/support/probe_task.hpp>

namespace lull {

/// The probe as a task that claims by itself: it holds the next chunk while it runs one. When its stay ends it finishes
/// half of the current chunk and hands back the rest, in up to three pieces.
struct pulling_probe : probe_task {
  static constexpr team_shape shape{.threads = 256, .steps = 2, .shared_bytes = 128, .claims = claiming::by_task};

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    auto& plan = *reinterpret_cast<seen_by_all*>(static_cast<unsigned char*>(team.shared()) + 64);
    for (chunk now = c; now.size() != 0;) {
      if (team.rank() == 0) {
        plan = {};
        for (std::uint32_t i = 0; i < polls && plan.leaves == 0; ++i) plan.leaves = team.stay_ended() ? 1 : 0;
        if (plan.leaves == 0) plan.next = team.more();
      }
      team.sync();
      seen_by_all const known = plan;
      team.sync();
      if (broken == mutant::stores_early) store(now, team);
      if (broken != mutant::skips_a_chunk || now.begin != 1) {
        chunk const first{now.at, now.begin, known.leaves != 0 ? now.begin + now.size() / 2 : now.end};
        meet(now, team);
        store(first, team);
        if (broken == mutant::runs_twice && now.begin == 0) store(first, team);
        if (team.rank() == 0) hand_back_from(first.end, now, team);
      }
      now = known.next;
    }
  }

 private:
  LULL_HD static void hand_back_from(std::uint64_t begin, chunk const& of, auto const& team) noexcept {
    for (int piece = 0; piece < 2 && begin + 1 < of.end; ++piece, ++begin) team.hand_back({of.at, begin, begin + 1});
    if (begin != of.end) team.hand_back({of.at, begin, of.end});
  }

  struct seen_by_all {
    chunk next;
    std::uint32_t leaves;
  };
};

static_assert(is_side_task<pulling_probe>() && sizeof(pulling_probe) == sizeof(probe_task));

}  // namespace lull
