// SPDX-License-Identifier: Apache-2.0
#include <lull/host/contract/contract.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <lull/device/cursor.hpp>
#include <lull/host/array.hpp>
#include <lull/host/contract/compared_arrays.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/solo/solo_bubbles.hpp>
#include <lull/host/task/hosted_job.hpp>

namespace lull {

namespace {

/// Far longer than a bubble needs: a bubble that ends by it without a single chunk shows a task that waits for ever.
constexpr std::chrono::nanoseconds max_lease = std::chrono::seconds{10};

constexpr std::chrono::nanoseconds between_hungry_bubbles = std::chrono::microseconds{100};

/// A byte that makes every floating-point number a NaN, so that adding to it shows.
constexpr unsigned no_number = 0xff;
constexpr char const* same_again =
    " (this run repeats the first one after reset(): check that reset() restores all that a run changes and reads "
    "before it writes it)";
constexpr char const* new_owners =
    " (in this run the job went from owner to owner, with its arrays and cursor: check that arrays() has all that the "
    "task writes and reads again)";

/// How one run is disturbed.
struct disturbance {
  close_place where = close_place::nowhere;
  std::uint64_t k = 0;             // close at the k-th event of each bubble
  std::uint64_t random_up_to = 0;  // not 0: at a random one up to this instead
  std::uint32_t grain = 1;
  std::uint64_t owners = 1;  // that the run uses, about

  std::string text() const {
    static constexpr char const* places[] = {"uninterrupted", "closed at the start of a chunk", "closed at a poll",
                                             "closed at the end of a chunk"};
    std::string said = places[static_cast<int>(where)];
    if (where != close_place::nowhere) {
      said += random_up_to != 0 ? ", at random up to " + std::to_string(random_up_to) : ", k = " + std::to_string(k);
    }
    return said + ", grain " + std::to_string(grain) + (owners > 1 ? ", by several owners" : "");
  }
};

/// The task and the preemption's line on the machine.
class stage {
 public:
  stage(contract_case const& which, executor& executor, contract_effort const& effort)
      : which_(which), executor_(executor), effort_(effort), with_(executor, 1) {}

  preemption const& counts() const { return counts_; }

  /// Runs the task from its start. Returns the first violation.
  std::string run(task_owner& owner, job_description const& task, disturbance const& how, std::mt19937_64& random) {
    begin_run();
    std::vector<std::uint64_t> saved;
    return run_part(owner, task, how, random, saved);
  }

  void begin_run() {
    counts_ = {};
    bubbles_ = 0;
  }

  /// Runs from where `saved` says, or from the start if it is empty, to the end or until another owner continues: then
  /// `saved` says from where.
  std::string run_part(task_owner& owner, job_description const& task, disturbance const& how, std::mt19937_64& random,
                       std::vector<std::uint64_t>& saved) {
    job_description job = task;
    job.type = which_.type;
    job.functor = which_.wrap(task.functor, with_.data());
    job.grain = how.grain;
    hosted_job hosted{executor_, {std::move(job), borrowed(&owner)}};
    std::optional<solo_bubbles> bubbles;
    hosted.submit([&](job_description what) {
      bubbles.emplace(executor_, std::move(what), std::min(max_lease, effort_.longest));
      if (!saved.empty()) bubbles->restore(std::exchange(saved, {}));
      return bubbles->handle();
    });
    std::string wrong = bubbles_until_its_end(hosted, *bubbles, how, random, saved);
    bubbles->end(wrong.empty() && saved.empty() ? job_state::finished : job_state::cancelled);
    hosted.finish_serving();
    return wrong;
  }

 private:
  std::string bubbles_until_its_end(hosted_job const& hosted, solo_bubbles& bubbles, disturbance const& how,
                                    std::mt19937_64& random, std::vector<std::uint64_t>& saved) {
    using clock = std::chrono::steady_clock;
    auto const begun = clock::now();
    auto worked_last = begun;
    std::uint64_t stalled = 0;  // bubbles in a row that finished nothing
    std::uint64_t k = how.k;
    bool hungry = false;  // the last bubble starved: the owner decides how many do, so they do not count
    while (bubbles_ < effort_.max_bubbles) {
      if (how.random_up_to != 0 && !hungry) k = 1 + random() % how.random_up_to;
      std::uint64_t const finished_before = counts_.finished_items;
      bool const is_served = hosted.is_served();
      // If all is handed back, the next bubble lasts a little longer: otherwise the run would never end.
      run_bubble(bubbles, how.where, how.where == close_place::nowhere ? 0 : k + stalled);
      detail::job_image const now = bubbles.reached();
      phase_state const state = tagged_state{now.words.state}.state();
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
      ++bubbles_;
      if (!worked) ++stalled;
      if (counts_.closed == 0 && counts_.starts == 0)
        return "a bubble ended by its lease and no chunk began in it: a phase never completes";
      if (how.where == close_place::nowhere && clock::now() - begun >= effort_.longest) {
        return "the task did not finish within " + format_duration(effort_.longest) + ", and reached round " +
               std::to_string(now.words.round) + ": check that extent returns lull::finished";
      }
      if (how.owners == 1) continue;
      if (counts_.extents > 2 * items_) return "the task goes on after the items of an uninterrupted run";
      // Spread evenly over the items at random distances: a task's phases may have a fixed one.
      if (random() % items_ < how.owners * (counts_.finished_items - finished_before)) {
        saved = bubbles.save();
        return {};
      }
    }
    return "the task did not finish in " + std::to_string(effort_.max_bubbles) + " bubbles";
  }

  void run_bubble(solo_bubbles& bubbles, close_place where, std::uint64_t close_at) {
    counts_.gate = bubbles.gate();
    counts_.value = bubbles.closing_value() + 2;  // of the next bubble
    counts_.where = where;
    counts_.close_at = close_at;
    counts_.events = counts_.closed = counts_.starts = counts_.late_starts = counts_.polls = 0;
    with_.write(std::span<preemption const>{&counts_, 1});
    bubbles.open();
    while (!bubbles.left()) std::this_thread::yield();
    bubbles.close();
    counts_ = with_.read().front();
  }

  std::string settle(detail::job_image const& last) {
    items_ = counts_.extents;
    if (last.words.items != counts_.extents || last.words.done != 0) {
      return std::to_string(last.words.items) + " items were committed, but the phases had " +
             std::to_string(counts_.extents);
    }
    if (counts_.finished_items != counts_.extents) {
      return "chunks of " + std::to_string(counts_.finished_items) + " items ran to their end, but the phases had " +
             std::to_string(counts_.extents);
    }
    return last.handed_back.empty() ? "" : "the task finished with chunks still in the ring";
  }

  contract_case const& which_;
  executor& executor_;
  contract_effort const& effort_;
  device_array<preemption> with_;
  preemption counts_{};
  std::uint64_t bubbles_ = 0;  // of the run
  std::uint64_t items_ = 0;    // of a whole run
};

/// Returns what is wrong after a run; empty: nothing.
std::string wrong_result(task_owner& owner, compared_arrays const& arrays, compared_arrays::contents const& expected) {
  if (verification const found = owner.verify(); !found.ok) return found.message;
  return arrays.difference(expected);
}

/// Does one run that is stopped again and again. Each time a new owner is made of the same input, gets the arrays and
/// the cursor, and continues, as after a checkpoint. So state that the task keeps elsewhere is lost, and shows.
std::string violation_between_owners(contract_case const& which, executor& executor, stage& scene,
                                     disturbance const& how, std::mt19937_64& random,
                                     compared_arrays::contents const& expected) {
  std::vector<std::uint64_t> saved;
  compared_arrays::contents contents;
  scene.begin_run();
  for (;;) {
    std::unique_ptr<task_owner> const owner = which.make_owner();
    owner->prepare(executor);
    compared_arrays const arrays{*owner, executor};
    if (!arrays.fit(expected)) return "a new owner of the same input makes other arrays";
    if (!saved.empty()) arrays.write(contents);
    std::string wrong = scene.run_part(*owner, owner->describe(), how, random, saved);
    if (wrong.empty() && saved.empty()) wrong = wrong_result(*owner, arrays, expected);
    if (saved.empty() || !wrong.empty()) return wrong;
    contents = arrays.read();
  }
}

/// Returns whether the state is in the files that the task makes, and in no array.
bool keeps_account(contract_case const& which, executor& executor) {
  std::unique_ptr<task_owner> const owner = which.make_owner();
  owner->prepare(executor);
  return owner->keep_account(which.name + ".account", false) != account::none;  // it is never saved
}

}  // namespace

std::string contract_violation(contract_case const& which, executor& executor, contract_effort const& effort) {
  std::unique_ptr<task_owner> const owner = which.make_owner();
  owner->prepare(executor);
  job_description const task = owner->describe();
  stage scene{which, executor, effort};
  compared_arrays const arrays{*owner, executor};
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
    if (wrong.empty()) wrong = wrong_result(*owner, arrays, expected);
    if (!wrong.empty()) return at(wrong + (i == 0 ? same_again : ""));
  }
  if (polls && handed_back == 0) return which.name + ": it polls, but handed no chunk back in any run";
  if (effort.owners < 2 || (arrays.count() == 0 && keeps_account(which, executor))) return {};
  for (close_place const where : {close_place::at_poll, close_place::at_end}) {
    if (where == close_place::at_poll && !polls) continue;
    how = {.where = where, .k = 1, .grain = task.grain, .owners = effort.owners};
    std::string const wrong = violation_between_owners(which, executor, scene, how, random, expected);
    if (!wrong.empty()) return at(wrong + new_owners);
  }
  return {};
}

}  // namespace lull
