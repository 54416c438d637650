// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/solo_measure.hpp>

#include <vector>

namespace lull {
namespace {

constexpr std::uint64_t min_rounds = 20;  // of a job that did not end: what is short of a whole one is not counted

}  // namespace

solo_measure measure_solo(executor& executor, task_owner& owner, std::chrono::nanoseconds about,
                          stop_question const& stop) {
  solo_measure sum;
  auto const begin = std::chrono::steady_clock::now();
  for (bool again = true; again;) {
    // A problem shows again, and is told, when the task runs in bubbles.
    std::vector<solo_task> const task{{owner.describe(), &owner}};
    solo_run const one = run_solo(executor, task, {.at_most = about - sum.elapsed, .stop = stop}).front();
    sum.elapsed = std::chrono::steady_clock::now() - begin;
    owner.reset();
    sum.all += one;
    if (one.finished) {
      sum.jobs += 1;
      sum.chunks_of_job = one.chunks;
      sum.rounds_of_job = one.rounds;
    }
    again = one.finished && sum.all.items != 0 && sum.elapsed < about && !stop({&one, 1});
  }
  return sum;
}

std::optional<double> jobs_per_s(solo_measure const& of, task_owner const& owner) {
  std::uint64_t const rounds = of.rounds_of_job.value_or(owner.max_rounds());
  double const seconds = std::chrono::duration<double>(of.all.time).count();
  bool const is_coarse = !of.rounds_of_job && of.all.rounds < min_rounds;
  if (rounds == 0 || is_coarse || seconds == 0) return std::nullopt;
  return static_cast<double>(of.all.rounds) / static_cast<double>(rounds) / seconds;
}

}  // namespace lull
