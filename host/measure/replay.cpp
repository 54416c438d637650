// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/replay.hpp>

#include <chrono>
#include <deque>
#include <map>
#include <thread>
#include <utility>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t max_ahead = 96;  // bubbles: fewer than the runtime keeps records of
constexpr std::size_t min_ahead = 2;
constexpr std::size_t look_each = 8;  // bubbles: a look takes the host about a microsecond
constexpr std::chrono::nanoseconds max_lead = 300ms;
constexpr auto max_collect = 5s;  // for the records of bubbles that are over

void collect(runtime& side, std::vector<replayed_bubble>& bubbles) {
  std::map<std::uint64_t, replayed_bubble*> missing;
  for (replayed_bubble& one : bubbles) {
    if (one.number != 0) missing[one.number] = &one;
  }
  for (auto const give_up = std::chrono::steady_clock::now() + max_collect;
       !missing.empty() && std::chrono::steady_clock::now() < give_up && side.mode() == runtime_mode::on;
       std::this_thread::sleep_for(500us)) {
    for (bubble_report& report : side.take_bubbles()) {
      auto const found = missing.find(report.record().bubble);
      if (found == missing.end()) continue;
      found->second->harvested = std::move(report);
      missing.erase(found);
    }
  }
}

}  // namespace

double replayed::ms() const noexcept {
  return iterations.empty() ? 0 : static_cast<double>(iterations.back().end_ns - iterations.front().begin_ns) / 1e6;
}

lost_cause cause_of(counted why) noexcept {
  switch (why) {
    case counted::too_short:
      return lost_cause::too_short;
    case counted::all_handed_back:
      return lost_cause::grain;
    case counted::records_unread:
      return lost_cause::host_late;
    case counted::withheld:
      return lost_cause::withheld;
    default:
      return lost_cause::no_job;
  }
}

std::optional<std::uint64_t> chunks_of(std::vector<replayed_bubble> const& bubbles) {
  std::uint64_t chunks = 0;
  for (replayed_bubble const& one : bubbles) {
    if (one.harvested) {
      chunks += one.harvested->record().chunks;
    } else if (one.number != 0) {
      return std::nullopt;
    }
  }
  return chunks;
}

replayed replay(stage_trainer& on, stage_plan const& plan, std::uint32_t iterations, runtime* side,
                std::function<bool()> const& stop, bool marks_steps) {
  replayed done;
  bool stopped = false;
  std::deque<std::pair<std::size_t, std::chrono::nanoseconds>>
      ahead;  // marks that the host has passed, and their planned moments
  on.begin_replay(iterations, iterations * plan.gaps.size());
  for (std::uint32_t i = 0; i < iterations && !stopped; ++i) {
    on.begin_iteration();
    if (side != nullptr && marks_steps) side->step(on.stream());
    std::uint32_t next = 0;
    for (std::uint32_t g = 0; g <= plan.gaps.size() && !stopped; ++g) {
      std::uint32_t const until =
          g < plan.gaps.size() ? plan.gaps[g].next_segment : static_cast<std::uint32_t>(plan.segments.size());
      for (; next < until; ++next) on.work(plan.segments[next]);
      if (g == plan.gaps.size()) break;
      gap const& idle = plan.gaps[g];
      auto const now = i * plan.length + idle.start;
      if (done.bubbles.size() % look_each == look_each - 1 && !ahead.empty()) {
        ++done.looks;
        done.host_behind += on.has_passed(ahead.back().first) ? 1 : 0;
      }
      ahead.emplace_back(on.mark(), now);
      while (ahead.size() > max_ahead || (ahead.size() > min_ahead && now - ahead.front().second > max_lead)) {
        on.wait_for_mark(ahead.front().first);
        ahead.pop_front();
      }
      stopped = stop();
      if (stopped) break;
      // In turn, and the other way round in the next iteration, so that each site gets both.
      wait_arrival const arrival = (i + g) % 2 == 0 ? wait_arrival::before_worker : wait_arrival::after_worker;
      replayed_bubble one{i, g, 0, std::nullopt, {}, std::nullopt};
      open_result const opened = side != nullptr ? side->open(on.stream(), site{name_of(idle.site)}) : open_result{};
      on.wait(idle.length, arrival);
      if (side != nullptr) side->close(opened, on.stream());
      one.number = opened.bubble;
      if (side != nullptr && opened.bubble == 0) one.cause = cause_of(opened.what);
      if (side != nullptr && side->mode() == runtime_mode::observe) one.cause = lost_cause::no_job;
      done.bubbles.push_back(std::move(one));
    }
    on.end_iteration();
  }
  if (side != nullptr && marks_steps) side->skip_step();  // it would last until the next replay
  replay_moments moments = on.end_replay();
  done.complete = !stopped;
  done.iterations = std::move(moments.iterations);
  for (std::size_t b = 0; b < done.bubbles.size() && b < moments.waits.size(); ++b)
    done.bubbles[b].moments = moments.waits[b];
  if (side != nullptr) collect(*side, done.bubbles);
  return done;
}

}  // namespace lull
