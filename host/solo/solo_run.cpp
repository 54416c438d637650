// SPDX-License-Identifier: Apache-2.0
#include <lull/host/solo/solo_run.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>

#include <lull/host/bubble.hpp>
#include <lull/host/detail/deadline.hpp>
#include <lull/host/error.hpp>
#include <lull/host/solo/bubble_lengths.hpp>
#include <lull/host/solo/solo_bubbles.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using clock = std::chrono::steady_clock;

constexpr auto lease = 10s;   // a worker that left by it is followed by another
constexpr auto look = 50us;   // between two questions whether the blocks are out
constexpr auto spun = 200us;  // before a random close: a sleep may last longer than it was asked to

/// Until then, or until the blocks are out because the task is over.
void hold(solo_bubbles& bubbles, clock::time_point until, nanoseconds last_spun) {
  while (!bubbles.left()) {
    auto const rest = until - clock::now();
    if (rest <= 0ns) return;
    if (rest > last_spun) {
      std::this_thread::sleep_for(look);
    } else {
      std::this_thread::yield();
    }
  }
}

void add(solo_run& sum, bubble_record const& one) {
  sum.bubbles += 1;
  sum.chunks += one.chunks;
  sum.handed_back += one.handed_back;
  sum.stay += nanoseconds{one.stay_ns};
  sum.time += time_at_work(one);
  if (one.not_saw_ns != 0) sum.drains.emplace_back(one.last_out_ns - ~one.not_saw_ns);
}

}  // namespace

double solo_run::items_per_s() const noexcept {
  return time.count() == 0 ? 0 : static_cast<double>(items) / std::chrono::duration<double>(time).count();
}

solo_run& solo_run::operator+=(solo_run const& other) {
  finished = finished && other.finished;
  bubbles += other.bubbles;
  items += other.items;
  chunks += other.chunks;
  handed_back += other.handed_back;
  time += other.time;
  stay += other.stay;
  drains.insert(drains.end(), other.drains.begin(), other.drains.end());
  return *this;
}

nanoseconds solo_run::chunk_time() const noexcept {
  return chunks == 0 ? 0ns : stay / static_cast<std::int64_t>(chunks);
}

solo_run run_to_end(task_owner& owner, executor& machine, solo_run_options const& how) {
  machine.arrive();
  job_description task = owner.describe();
  if (how.grain != 0) task.grain = how.grain;
  if (task.grain == 0) throw usage_error{task.name + ": the grain is 0: a chunk has an item at least"};
  solo_bubbles bubbles{
      machine, machine.kind() == executor_kind::cuda ? task.type.cuda : task.type.threads, {.lease = lease}};
  bubbles.begin(task);
  bubbles.serve(owner);
  std::optional<bubble_lengths> random;
  if (how.max_bubble.count() != 0) random.emplace(how.bubble, how.max_bubble, how.seed);
  auto const end = deadline_after(how.at_most);
  solo_run found;
  bool starved = false;  // for good
  for (bool over = false; !over;) {
    nanoseconds const length = random ? random->next() : how.bubble;
    bool const is_served = bubbles.is_served();
    bubbles.open();
    auto const closes = length.count() == 0 ? end : std::min(end, deadline_after(length));
    hold(bubbles, closes, random ? spun : 0ns);
    bubble_record const one = bubbles.close();
    add(found, one);
    cursor const now = bubbles.reached();
    phase_state const state = tagged_state{now.state}.state();
    if (state == phase_state::failed)
      throw usage_error{task.name + ": the task failed; an extent may be beyond what a phase can have"};
    if (state == phase_state::starved) {
      starved = !is_served && one.starved_blocks != 0;  // a bubble may be too short to ask in
      std::this_thread::sleep_for(look);
    }
    found.items = now.items + now.done;
    found.finished = state == phase_state::finished;
    over = found.finished || starved || clock::now() >= end;
  }
  bubbles.end(found.finished ? job_state::finished : job_state::cancelled);
  if (starved) throw usage_error{task.name + ": the task starves, and nobody feeds it any more"};
  return found;
}

nanoseconds percentile(std::vector<nanoseconds> values, double share) {
  if (values.empty()) return 0ns;
  std::sort(values.begin(), values.end());
  auto const rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

}  // namespace lull
