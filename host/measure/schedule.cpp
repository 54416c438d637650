// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/schedule.hpp>

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
constexpr std::array<std::string_view, 4> schedule_names{"gpipe", "1f1b", "interleaved", "zero_bubble"};

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
  if (shape.kind == schedule_kind::interleaved && shape.microbatches % shape.stages != 0) {
    throw usage_error("an interleaved schedule takes micro-batches in groups of as many as there are stages: " +
                      std::to_string(shape.microbatches) + " is no multiple of " + std::to_string(shape.stages));
  }
  if (shape.forward < shortest_forward || shape.forward > max_forward) {
    throw usage_error("a forward segment of " + format_duration(shape.forward) + " is out of range: it must be " +
                      format_duration(shortest_forward) + " to " + format_duration(max_forward));
  }
}

/// Of one virtual stage on one micro-batch.
nanoseconds duration_of(schedule_shape const& shape, pass_kind pass) {
  nanoseconds const forward = shape.forward / virtual_stages_of(shape.kind);
  return pass == pass_kind::backward ? backward_ratio * forward : forward;
}

/// The n-th thing that a stage does, but for gradients of weights that are split off.
struct step {
  pass_kind pass;
  std::uint32_t virtual_stage;
  std::uint32_t microbatch;
};

/// The n-th forward or backward of a stage: group after group of as many micro-batches as there are stages, in each
/// group virtual stage after virtual stage.
step nth_of(schedule_shape const& shape, pass_kind pass, std::uint32_t n) {
  std::uint32_t const virtual_stages = virtual_stages_of(shape.kind);
  std::uint32_t const group = n / (shape.stages * virtual_stages);
  std::uint32_t const within = n % (shape.stages * virtual_stages);
  std::uint32_t const virtual_stage = within / shape.stages;
  return {pass, pass == pass_kind::forward ? virtual_stage : virtual_stages - 1 - virtual_stage,
          group * shape.stages + within % shape.stages};
}

/// Forwards before the first pair of forward and backward.
std::uint32_t warm_up_of(schedule_shape const& shape, std::uint32_t stage, std::uint32_t forwards) {
  std::uint32_t const behind = shape.stages - 1 - stage;
  std::uint32_t const wanted = shape.kind == schedule_kind::interleaved ? 2 * behind + shape.stages : behind;
  return std::min(wanted, forwards);
}

step step_of(schedule_shape const& shape, std::uint32_t stage, std::uint32_t n) {
  std::uint32_t const count = shape.microbatches * virtual_stages_of(shape.kind);
  if (shape.kind == schedule_kind::gpipe) {
    if (n < count) return {pass_kind::forward, 0, n};
    return {pass_kind::backward, 0, 2 * count - 1 - n};
  }
  pass_kind const back = shape.kind == schedule_kind::zero_bubble ? pass_kind::input_gradient : pass_kind::backward;
  std::uint32_t const ahead = warm_up_of(shape, stage, count);
  if (n < ahead) return nth_of(shape, pass_kind::forward, n);
  std::uint32_t const paired = n - ahead;  // forward, backward, forward, … until forwards are used up
  if (paired >= 2 * (count - ahead)) return nth_of(shape, back, n - count);
  if (paired % 2 == 0) return nth_of(shape, pass_kind::forward, ahead + paired / 2);
  return nth_of(shape, back, paired / 2);
}

/// When each forward and each backward is done, by where its virtual stage stands in the model.
class times_done {
 public:
  explicit times_done(schedule_shape const& shape)
      : shape_(shape), positions_(shape.stages * virtual_stages_of(shape.kind)) {
    times_.fill(std::vector(std::size_t{positions_} * shape.microbatches, not_done));
  }

  nanoseconds& of(std::uint32_t stage, step what) { return at(what.pass, position(stage, what), what.microbatch); }
  /// When what it needs of other virtual stages is there.
  nanoseconds ready(std::uint32_t stage, step what) {
    std::uint32_t const here = position(stage, what);
    if (what.pass == pass_kind::forward) return here == 0 ? nanoseconds{0} : at(what.pass, here - 1, what.microbatch);
    if (here + 1 < positions_) return at(what.pass, here + 1, what.microbatch);
    return at(pass_kind::forward, here, what.microbatch);
  }

 private:
  std::uint32_t position(std::uint32_t stage, step what) const { return what.virtual_stage * shape_.stages + stage; }
  nanoseconds& at(pass_kind pass, std::uint32_t position, std::uint32_t microbatch) {
    return times_[pass == pass_kind::forward ? 0 : 1][std::size_t{position} * shape_.microbatches + microbatch];
  }

  schedule_shape const& shape_;
  std::uint32_t positions_;
  std::array<std::vector<nanoseconds>, 2> times_;  // forwards, backwards: (positions, microbatches)
};

/// How far a stage is.
struct stage_progress {
  std::uint32_t next = 0;  // its n-th thing
  std::uint32_t forwards = 0;
  std::uint32_t input_gradients = 0;
  std::uint32_t weight_gradients = 0;
  nanoseconds free_at{0};
};

/// Whether a gradient of weights comes before the next thing, which may begin at `ready`.
bool weights_come_first(schedule_shape const& shape, stage_progress const& at, step next, nanoseconds ready) {
  if (at.weight_gradients == at.input_gradients) return false;
  bool const full = next.pass == pass_kind::forward && at.forwards - at.weight_gradients >= shape.stages;
  return full || at.free_at + duration_of(shape, pass_kind::weight_gradient) <= ready;
}

// Goes round the stages; each does what it can. Every round advances some stage, since no schedule has a cycle.
stage_plan run(schedule_shape const& shape, std::uint32_t stage) {
  times_done done{shape};
  stage_plan plan{};
  std::vector<stage_progress> all(shape.stages);
  std::uint32_t const things = 2 * shape.microbatches * virtual_stages_of(shape.kind);
  auto const add = [&](std::uint32_t s, step what, nanoseconds ready) {
    nanoseconds const start = std::max(ready, all[s].free_at);
    nanoseconds const duration = duration_of(shape, what.pass);
    all[s].free_at = start + duration;
    if (s == stage) plan.segments.push_back({what.pass, what.microbatch, what.virtual_stage, start, duration});
  };
  auto const add_weights = [&](std::uint32_t s) {
    add(s, {pass_kind::weight_gradient, 0, all[s].weight_gradients++}, nanoseconds{0});
  };
  for (std::uint32_t finished = 0; finished < shape.stages;) {
    for (std::uint32_t s = 0; s < shape.stages; ++s) {
      stage_progress& at = all[s];
      while (at.next < things) {
        step const todo = step_of(shape, s, at.next);
        nanoseconds const ready = done.ready(s, todo);
        if (ready == not_done) break;
        if (weights_come_first(shape, at, todo, ready)) {
          add_weights(s);
          continue;
        }
        add(s, todo, ready);
        done.of(s, todo) = at.free_at;
        if (todo.pass == pass_kind::forward) ++at.forwards;
        if (todo.pass == pass_kind::input_gradient) ++at.input_gradients;
        if (++at.next < things) continue;
        while (at.weight_gradients < at.input_gradients) add_weights(s);
        ++finished;
      }
    }
  }
  plan.length = std::ranges::max(all, {}, &stage_progress::free_at).free_at;
  return plan;
}

void add_gaps(stage_plan& plan) {
  nanoseconds end{0};
  auto const is_forward = [](segment const& each) { return each.pass == pass_kind::forward; };
  auto forwards_left = std::ranges::count_if(plan.segments, is_forward);
  bool backward_seen = false;
  for (std::uint32_t i = 0; i < plan.segments.size(); ++i) {
    segment const& next = plan.segments[i];
    bool const backward = !is_forward(next);
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

std::string_view name_of(schedule_kind kind) noexcept { return schedule_names[static_cast<std::size_t>(kind)]; }

schedule_kind parse_schedule(std::string_view name) {
  auto const found = std::ranges::find(schedule_names, name);
  if (found == schedule_names.end())
    throw usage_error("unknown schedule \"" + std::string{name} + "\"; known: " + list_known(name, schedule_names));
  return static_cast<schedule_kind>(found - schedule_names.begin());
}

std::uint32_t virtual_stages_of(schedule_kind kind) noexcept { return kind == schedule_kind::interleaved ? 2 : 1; }

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
  // All times are whole multiples of half the forward time, so one plan tells the factor.
  shape.forward = shortest_forward;
  std::int64_t const factor = max_gap(plan_stage(shape, stage)) / (shortest_forward / 2);
  if (factor == 0) {
    throw usage_error("stage " + std::to_string(stage) + " of " + std::to_string(shape.stages) +
                      " has no gap in this schedule: choose another stage, or give no longest bubble");
  }
  shape.forward = (2 * length + nanoseconds{factor / 2}) / factor;
  check(shape, stage);
  return shape.forward;
}

}  // namespace lull
