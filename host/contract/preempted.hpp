// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/gate.hpp>
#include <lull/device/side_task.hpp>
#include <lull/device/world.hpp>

namespace lull {

/// Where a bubble is closed from inside: nowhere; before a chunk's first step; before one of its polls; after its last
/// step.
enum class close_place : std::uint32_t { nowhere, at_start, at_poll, at_end };

/// What a preempted task counts, and when it closes its own bubble. In memory of the machine; the host reads and writes
/// it between bubbles.
struct alignas(128) preemption {
  // -- written by the host before a bubble
  gate_line* gate;
  std::uint32_t value;  // even: the gate's value when closed
  close_place where;
  std::uint64_t close_at;  // at the n-th event of that place, from 1
  // -- of the current bubble
  std::uint64_t events;  // starts, polls or ends so far, as `where` says
  std::uint64_t closed;  // 1: the gate holds `value`
  std::uint64_t starts;  // chunks begun
  /// … by a block that could know of the close: at most one a block, and none on the block that closed.
  std::uint64_t late_starts;
  std::uint64_t polls;
  // -- of the run
  std::uint64_t finished_items;  // that were not handed back
  std::uint64_t handed_back;     // chunks
  std::uint64_t extents;         // sum over phases
};

/// A team that closes the bubble before one of its task's polls. It copies the worker's team except for the polls, of
/// which the worker must know.
template <class Team>
class preempted_team : public Team {
 public:
  using world = typename Team::world;

  LULL_HD preempted_team(Team const& inner, preemption& with) noexcept : Team(inner), inner_(inner), with_(with) {}

  /// Counts an event at `here` on rank 0, and closes the gate at the chosen one.
  LULL_HD void pass(close_place here) const noexcept {
    if (world::template load<order::relaxed, scope::device>(with_.close_at) == 0 || with_.where != here) return;
    if (world::template fetch_add<order::relaxed, scope::device>(with_.events, std::uint64_t{1}) + 1 != with_.close_at)
      return;
    world::template store<order::relaxed, scope::system>(with_.gate->value, with_.value);
    // release: a block that finds `closed` finds the gate closed at its next poll
    world::template store<order::release, scope::device>(with_.closed, std::uint64_t{1});
  }

  LULL_HD bool leaving() const noexcept {
    if (this->rank() == 0) {
      world::template fetch_add<order::relaxed, scope::device>(with_.polls, std::uint64_t{1});
      pass(close_place::at_poll);
    }
    return inner_.leaving();
  }
  LULL_HD bool left() const noexcept { return inner_.left(); }

  LULL_HD bool stay_ended() const noexcept {
    world::template fetch_add<order::relaxed, scope::device>(with_.polls, std::uint64_t{1});
    pass(close_place::at_poll);
    return inner_.stay_ended();
  }
  LULL_HD chunk more() const noexcept {
    pass(close_place::at_end);
    // acquire: the gate's value that the closer wrote
    std::uint64_t const late = world::template load<order::acquire, scope::device>(with_.closed);
    chunk const found = inner_.more();
    if (found.size() == 0) return found;
    if (late != 0) world::template fetch_add<order::relaxed, scope::device>(with_.late_starts, std::uint64_t{1});
    world::template fetch_add<order::relaxed, scope::device>(with_.starts, std::uint64_t{1});
    world::template fetch_add<order::relaxed, scope::device>(with_.finished_items, found.size());
    pass(close_place::at_start);
    return found;
  }
  LULL_HD void hand_back(chunk undone) const noexcept {
    world::template fetch_add<order::relaxed, scope::device>(with_.handed_back, std::uint64_t{1});
    world::template fetch_add<order::relaxed, scope::device>(with_.finished_items, ~undone.size() + 1);
    inner_.hand_back(undone);
  }

 private:
  Team const& inner_;
  preemption& with_;
};

/// A side task that closes its bubble from inside. So a test knows at which claim it is preempted, and runs nothing
/// else on the machine. Its shape and results are the task's.
template <side_task Task>
struct preempted {
  static constexpr team_shape shape = Task::shape;

  Task task;
  preemption* with;

  LULL_HD std::uint64_t extent(position at, std::uint64_t fed) const noexcept {
    std::uint64_t const items = task.extent(at, fed);
    // plain: one block at a time opens a phase, and what it writes reaches the next opener through the phase's state
    if (items != finished && items != starved) with->extents += items;
    return items;
  }

  template <class Team>
  LULL_HD void operator()(chunk c, Team const& team) const noexcept {
    using world = typename Team::world;
    preempted_team<Team> const members{team, *with};
    if (team.rank() == 0) {
      // acquire: the gate's value that the closer wrote
      std::uint64_t const late = world::template load<order::acquire, scope::device>(with->closed);
      if (late != 0) world::template fetch_add<order::relaxed, scope::device>(with->late_starts, std::uint64_t{1});
      world::template fetch_add<order::relaxed, scope::device>(with->starts, std::uint64_t{1});
      members.pass(close_place::at_start);
    }
    task(c, members);
    if (team.rank() == 0) {
      bool left = false;
      if constexpr (shape.claims == claiming::by_worker) left = members.left();
      world::template fetch_add<order::relaxed, scope::device>(left ? with->handed_back : with->finished_items,
                                                               left ? std::uint64_t{1} : c.size());
      members.pass(close_place::at_end);
    }
  }

  LULL_HD void advance(position ended, auto const& team) const noexcept
    requires has_advance<Task>
  {
    task.advance(ended, team);
  }
};

}  // namespace lull
