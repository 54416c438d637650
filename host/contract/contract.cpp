// SPDX-License-Identifier: Apache-2.0
#include <lull/host/contract/contract.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <lull/device/cursor.hpp>
#include <lull/host/array.hpp>
#include <lull/host/contract/compared_arrays.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/solo/solo_bubbles.hpp>

namespace lull {

namespace {

/// Far longer than a bubble needs: a bubble that ends by it without a single chunk begun shows a task that waits for
/// ever.
constexpr std::chrono::nanoseconds max_lease = std::chrono::seconds{10};

constexpr std::chrono::nanoseconds between_hungry_bubbles = std::chrono::microseconds{100};

/// A byte of which floating-point numbers are none: what is added to them shows.
constexpr unsigned no_number = 0xff;
constexpr char const* same_again =
    " (this run repeats the first one after reset(): check that reset() restores all that a run changes)";

/// How one run is disturbed.
struct disturbance {
  close_place where = close_place::nowhere;
  std::uint64_t k = 0;             // close at the k-th event of each bubble
  std::uint64_t random_up_to = 0;  // not 0: at a random one up to this instead
  std::uint32_t grain = 1;

  std::string text() const {
    static constexpr char const* places[] = {"uninterrupted", "closed at the start of a chunk", "closed at a poll",
                                             "closed at the end of a chunk"};
    std::string said = places[static_cast<int>(where)];
    if (where != close_place::nowhere) {
      said += random_up_to != 0 ? ", at random up to " + std::to_string(random_up_to) : ", k = " + std::to_string(k);
    }
    return said + ", grain " + std::to_string(grain);
  }
};

/// The task and the preemption's line on the machine.
class stage {
 public:
  stage(contract_case const& which, executor& machine, contract_effort const& effort)
      : which_(which), machine_(machine), effort_(effort), with_(machine, 1) {}

  preemption const& counts() const { return counts_; }

  /// One run from the start; the first violation.
  std::string run(task_owner& owner, job_description const& task, disturbance const& how, std::mt19937_64& random) {
    job_description job = task;
    job.type = which_.type;
    job.functor = which_.wrap(task.functor, with_.data());
    job.grain = how.grain;
    solo_bubbles bubbles{machine_, job, std::min(max_lease, effort_.longest)};
    bubbles.serve(owner);
    std::string wrong = bubbles_until_its_end(bubbles, how, random);
    bubbles.end(wrong.empty() ? job_state::finished : job_state::cancelled);
    bubbles.finish_serving();
    return wrong;
  }

 private:
  std::string bubbles_until_its_end(solo_bubbles& bubbles, disturbance const& how, std::mt19937_64& random) {
    using clock = std::chrono::steady_clock;
    auto const begun = clock::now();
    auto worked_last = begun;
    counts_ = {};
    std::uint64_t stalled = 0;  // bubbles in turn that finished nothing
    std::uint64_t k = how.k;
    bool hungry = false;  // was the bubble before: how many of them come is up to the owner, and they do not count
    for (std::uint64_t bubble = 0; bubble < effort_.max_bubbles;) {
      if (how.random_up_to != 0 && !hungry) k = 1 + random() % how.random_up_to;
      std::uint64_t const finished_before = counts_.finished_items;
      bool const is_served = bubbles.is_served();
      // Where all is handed back, the next bubble goes on a little longer: else there would be no end.
      run_bubble(bubbles, how.where, how.where == close_place::nowhere ? 0 : k + stalled);
      cursor const now = bubbles.reached();
      phase_state const state = tagged_state{now.state}.state();
      bool const worked = counts_.finished_items != finished_before;
      if (worked) {
        stalled = 0;
        worked_last = clock::now();
      }
      if (counts_.late_starts >= bubbles.blocks()) {
        return std::to_string(counts_.late_starts) + " chunks began after the close on " +
               std::to_string(bubbles.blocks()) + " blocks";
      }
      if (bubbles.inside() != 0) return "the entry word still counts a block inside";
      if (state == phase_state::failed) return "the job failed: extent returned more items than a phase can have";
      if (state == phase_state::finished) return settle(now);
      if (state == phase_state::starved && !is_served) return "the task starves, and its owner no longer feeds it";
      hungry = state == phase_state::starved && !worked;
      if (hungry) {
        if (clock::now() - worked_last >= effort_.longest) {
          return "the task starves, and its owner has not fed it within " + format_duration(effort_.longest);
        }
        std::this_thread::sleep_for(between_hungry_bubbles);
        continue;
      }
      ++bubble;
      if (!worked) ++stalled;
      if (counts_.closed == 0 && counts_.starts == 0)
        return "a bubble ended by its lease and no chunk began in it: a phase never completes";
      if (how.where == close_place::nowhere && clock::now() - begun >= effort_.longest) {
        return "the task did not finish within " + format_duration(effort_.longest) + ", and reached round " +
               std::to_string(now.round) + ": check that extent returns lull::finished";
      }
    }
    return "the task did not finish in " + std::to_string(effort_.max_bubbles) + " bubbles";
  }

  void run_bubble(solo_bubbles& bubbles, close_place where, std::uint64_t close_at) {
    counts_.gate = bubbles.gate();
    counts_.value = bubbles.closing_value() + 2;  // of the bubble that comes
    counts_.where = where;
    counts_.close_at = close_at;
    counts_.events = counts_.closed = counts_.starts = counts_.late_starts = counts_.polls = 0;
    with_.write(std::span<preemption const>{&counts_, 1});
    bubbles.open();
    while (!bubbles.left()) std::this_thread::yield();
    bubbles.close();
    counts_ = with_.read().front();
  }

  std::string settle(cursor const& last) const {
    if (last.items != counts_.extents || last.done != 0) {
      return std::to_string(last.items) + " items were committed, but the phases had " +
             std::to_string(counts_.extents);
    }
    if (counts_.finished_items != counts_.extents) {
      return "chunks of " + std::to_string(counts_.finished_items) + " items ran to their end, but the phases had " +
             std::to_string(counts_.extents);
    }
    return last.ring.pushed == last.ring.popped ? "" : "the task finished with chunks still in the ring";
  }

  contract_case const& which_;
  executor& machine_;
  contract_effort const& effort_;
  machine_array<preemption> with_;
  preemption counts_{};
};

}  // namespace

std::string contract_violation(contract_case const& which, executor& machine, contract_effort const& effort) {
  std::unique_ptr<task_owner> const owner = which.make_owner();
  owner->prepare(machine);
  job_description const task = owner->describe();
  stage scene{which, machine, effort};
  compared_arrays const arrays{*owner, machine};
  std::mt19937_64 random{effort.seed};

  disturbance how{.grain = task.grain};
  auto const at = [&](std::string const& violation) { return which.name + ", " + how.text() + ": " + violation; };

  compared_arrays::contents const before = arrays.read();
  if (auto const wrong = scene.run(*owner, task, how, random); !wrong.empty()) return at(wrong);
  if (verification const found = owner->verify(); !found.ok) return at(found.message);
  compared_arrays::contents const expected = arrays.read();
  bool const polls = scene.counts().polls != 0;

  std::vector<disturbance> runs{{.grain = task.grain}, {.grain = 2 * task.grain + 1}};
  for (close_place const where : {close_place::at_start, close_place::at_poll, close_place::at_end}) {
    if (where == close_place::at_poll && !polls) continue;
    for (std::uint64_t k = 1; k <= effort.every_k; ++k) runs.push_back({.where = where, .k = k, .grain = task.grain});
    for (std::uint64_t i = 0; i < effort.random_runs; ++i) {
      runs.push_back(
          {.where = where, .random_up_to = std::uint64_t{4} << i, .grain = task.grain + static_cast<std::uint32_t>(i)});
    }
  }
  std::uint64_t handed_back = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    how = runs[i];
    arrays.poison(before, expected, i % 2 == 0 ? no_number : 0xa5 + static_cast<unsigned>(i));
    owner->reset();
    if (auto const moved = arrays.moved(*owner); !moved.empty()) return at(moved);
    std::string wrong = scene.run(*owner, task, how, random);
    handed_back += scene.counts().handed_back;
    if (wrong.empty()) {
      if (verification const found = owner->verify(); !found.ok) wrong = found.message;
    }
    if (wrong.empty()) wrong = arrays.difference(expected);
    if (!wrong.empty()) return at(wrong + (i == 0 ? same_again : ""));
  }
  if (polls && handed_back == 0) return which.name + ": it polls, but handed no chunk back in any run";
  return {};
}

}  // namespace lull
