// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/instants/preempted_runs.hpp>

#include <random>
#include <stdexcept>

#include <lull/host/contract/compared_arrays.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/solo/solo_run.hpp>

namespace lull::bench {

preempted_runs preempt_at_random(task_owner& owner, executor& executor, instants_wish const& wish) {
  using clock = std::chrono::steady_clock;
  compared_arrays const arrays{owner, executor};
  compared_arrays::contents const before = arrays.read();
  std::string const time = format_duration(wish.at_most);
  if (!run_to_end(owner, executor, {.at_most = wish.at_most}).finished)
    throw limit_error{"uninterrupted, the task does not end within " + time + ": ask less of it, or give more time"};
  verification const judged = owner.verify();
  if (!judged.ok) throw std::runtime_error{"the uninterrupted run came to a wrong result: " + judged.message};
  compared_arrays::contents const expected = arrays.read();

  preempted_runs found{.arrays = arrays.count(), .array_bytes = arrays.bytes(), .verified = judged.message};
  std::mt19937_64 seeds{wish.seed};
  auto const end = clock::now() + wish.at_most;
  while (found.difference.empty() && found.instants < wish.instants) {
    arrays.poison(before, expected, 0xa5 + static_cast<unsigned>(found.runs));
    owner.reset();
    solo_run const one = run_to_end(
        owner, executor,
        {.bubble = wish.shortest, .max_bubble = wish.longest, .seed = seeds(), .at_most = end - clock::now()});
    found.instants += one.drains.size();
    found.bubbles += one.bubbles;
    found.handed_back += one.handed_back;
    if (one.finished) {
      found.runs += 1;
      found.difference = arrays.difference(expected);
    }
    bool const enough = !found.difference.empty() || (one.finished && found.instants >= wish.instants);
    if (!enough && (!one.finished || clock::now() >= end))
      throw limit_error{std::to_string(found.instants) + " of " + std::to_string(wish.instants) +
                        " bubbles were cut within " + time +
                        ": ask for fewer, for a task whose runs last longer, or give more time"};
  }
  return found;
}

}  // namespace lull::bench
