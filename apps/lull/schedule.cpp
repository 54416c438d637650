// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/schedule.hpp>

#include <algorithm>
#include <array>
#include <string>

#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/task/options.hpp>

namespace lull {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint32_t max_stages = 1024;
constexpr std::uint32_t max_microbatches = 65'536;
constexpr std::uint64_t max_cells = 1 << 20;  // stages × microbatches: 16 MiB of times
constexpr nanoseconds shortest_forward = std::chrono::microseconds{1};
constexpr nanoseconds max_forward = std::chrono::minutes{1};
constexpr std::int64_t backward_ratio = 2;
constexpr nanoseconds not_done{-1};

void check(schedule_shape const& shape, std::uint32_t stage) {
  auto const limit = [](std::string_view name, std::uint64_t given, std::uint64_t most) {
    if (given < 1 || given > most) {
      throw usage_error(std::string{name} + " is " + std::to_string(given) + ": it must be 1 to " +
                        std::to_string(most));
    }
  };
  limit("the number of stages", shape.stages, max_stages);
  limit("the number of micro-batches", shape.microbatches, max_microbatches);
  limit("stages times micro-batches", std::uint64_t{shape.stages} * shape.microbatches, max_cells);
  if (stage >= shape.stages) {
    throw usage_error("there is no stage " + std::to_string(stage) + ": with " + std::to_string(shape.stages) +
                      " stages it must be 0 to " + std::to_string(shape.stages - 1));
  }
  if (shape.forward < shortest_forward || shape.forward > max_forward) {
    throw usage_error("a forward segment of " + format_duration(shape.forward) + " is out of range: it must be " +
                      format_duration(shortest_forward) + " to " + format_duration(max_forward));
  }
}

// The n-th thing that a stage does.
struct step {
  segment::direction pass;
  std::uint32_t microbatch;
};

step step_of(schedule_shape const& shape, std::uint32_t stage, std::uint32_t n) {
  std::uint32_t const count = shape.microbatches;
  if (shape.kind == schedule_kind::gpipe) {
    if (n < count) return {segment::direction::forward, n};
    return {segment::direction::backward, 2 * count - 1 - n};
  }
  std::uint32_t const ahead = std::min(shape.stages - 1 - stage, count);  // forwards before the first pair
  if (n < ahead) return {segment::direction::forward, n};
  std::uint32_t const paired = n - ahead;  // forward, backward, forward, … until forwards are used up
  if (paired >= 2 * (count - ahead)) return {segment::direction::backward, n - count};
  if (paired % 2 == 0) return {segment::direction::forward, ahead + paired / 2};
  return {segment::direction::backward, paired / 2};
}

// Goes round the stages; each does what it can. Every round advances some stage, since neither schedule has a cycle.
stage_plan run(schedule_shape const& shape, std::uint32_t stage) {
  std::array<std::vector<nanoseconds>, 2> times;  // by direction, (stages, microbatches): when it is done
  times.fill(std::vector(std::size_t{shape.stages} * shape.microbatches, not_done));
  auto const done = [&](std::uint32_t s, step todo) -> nanoseconds& {
    return times[static_cast<std::size_t>(todo.pass)][std::size_t{s} * shape.microbatches + todo.microbatch];
  };
  auto const ready_at = [&](std::uint32_t s, step todo) {
    if (todo.pass == segment::direction::forward) return s == 0 ? nanoseconds{0} : done(s - 1, todo);
    if (s + 1 < shape.stages) return done(s + 1, todo);
    return done(s, {segment::direction::forward, todo.microbatch});
  };
  stage_plan plan{};
  std::vector<std::uint32_t> next(shape.stages, 0);
  std::vector<nanoseconds> free_at(shape.stages, nanoseconds{0});
  for (std::uint32_t finished = 0; finished < shape.stages;) {
    for (std::uint32_t s = 0; s < shape.stages; ++s) {
      while (next[s] < 2 * shape.microbatches) {
        step const todo = step_of(shape, s, next[s]);
        nanoseconds const ready = ready_at(s, todo);
        if (ready == not_done) break;
        nanoseconds const start = std::max(ready, free_at[s]);
        nanoseconds const duration =
            todo.pass == segment::direction::forward ? shape.forward : backward_ratio * shape.forward;
        free_at[s] = start + duration;
        done(s, todo) = free_at[s];
        if (s == stage) plan.segments.push_back({todo.pass, todo.microbatch, start, duration});
        if (++next[s] == 2 * shape.microbatches) ++finished;
      }
    }
  }
  plan.length = *std::max_element(free_at.begin(), free_at.end());
  return plan;
}

void add_gaps(stage_plan& plan) {
  nanoseconds end{0};
  std::uint32_t forwards_left = static_cast<std::uint32_t>(plan.segments.size() / 2);
  bool backward_seen = false;
  for (std::uint32_t i = 0; i < plan.segments.size(); ++i) {
    segment const& next = plan.segments[i];
    bool const backward = next.pass == segment::direction::backward;
    gap_site site = gap_site::steady;
    if (backward && !backward_seen) {
      site = gap_site::first_backward;
    } else if (!backward_seen) {
      site = gap_site::warm_up;
    } else if (forwards_left == 0) {
      site = gap_site::cool_down;
    }
    if (next.start > end) plan.gaps.push_back({site, i, end, next.start - end});
    end = next.start + next.duration;
    backward_seen = backward_seen || backward;
    if (!backward) --forwards_left;
  }
  if (plan.length > end) {
    plan.gaps.push_back({gap_site::tail, static_cast<std::uint32_t>(plan.segments.size()), end, plan.length - end});
  }
}

}  // namespace

std::string_view name_of(schedule_kind kind) noexcept { return kind == schedule_kind::gpipe ? "gpipe" : "1f1b"; }

schedule_kind parse_schedule(std::string_view name) {
  if (name == "gpipe") return schedule_kind::gpipe;
  if (name == "1f1b") return schedule_kind::one_forward_one_backward;
  constexpr std::array<std::string_view, 2> known{"1f1b", "gpipe"};
  throw usage_error("unknown schedule \"" + std::string{name} + "\"; known: " + list_known(name, known));
}

std::string_view name_of(gap_site site) noexcept {
  constexpr std::array<std::string_view, 5> names{"warm-up", "first backward", "steady", "cool-down", "tail"};
  return names[static_cast<std::size_t>(site)];
}

stage_plan plan_stage(schedule_shape const& shape, std::uint32_t stage) {
  check(shape, stage);
  stage_plan plan = run(shape, stage);
  add_gaps(plan);
  return plan;
}

nanoseconds max_gap(stage_plan const& plan) noexcept {
  return plan.gaps.empty() ? nanoseconds{0} : std::ranges::max(plan.gaps, {}, &gap::length).length;
}

nanoseconds forward_for_max_gap(schedule_shape shape, std::uint32_t stage, nanoseconds length) {
  // All times are whole multiples of the forward time, so one plan tells the factor.
  shape.forward = shortest_forward;
  std::int64_t const factor = max_gap(plan_stage(shape, stage)) / shortest_forward;
  if (factor == 0) {
    throw usage_error("stage " + std::to_string(stage) + " of " + std::to_string(shape.stages) +
                      " has no gap in this schedule: choose another stage, or give no longest bubble");
  }
  shape.forward = (length + nanoseconds{factor / 2}) / factor;
  check(shape, stage);
  return shape.forward;
}

}  // namespace lull
