// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/pipeline/step_order.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>

#include <lull/host/error.hpp>

namespace lull::bench {

namespace {

using kind = step_action::kind;

/// A virtual stage of a stage.
struct model_place {
  std::uint32_t stage;
  std::uint32_t virtual_stage;
};

/// Whose result a pass needs; none: its own stage has all.
std::optional<model_place> source_of(schedule_shape const& shape, model_place at, pass_kind pass) {
  std::uint32_t const position = at.virtual_stage * shape.stages + at.stage;
  auto const place = [&](std::uint32_t of) { return model_place{of % shape.stages, of / shape.stages}; };
  if (pass == pass_kind::weight_gradient) return std::nullopt;
  if (pass == pass_kind::forward) return position == 0 ? std::nullopt : std::optional{place(position - 1)};
  bool const is_last = position + 1 == shape.stages * virtual_stages_of(shape.kind);
  return is_last ? std::nullopt : std::optional{place(position + 1)};
}

struct event {
  std::chrono::nanoseconds start;
  kind what;  // compute, or receive for both ends of a transfer
  std::uint32_t stage;
  segment pass;
};

}  // namespace

std::vector<std::vector<step_action>> step_order(schedule_shape const& shape) {
  if (shape.stages < 2) throw usage_error{"a pipeline has at least two stages"};
  std::vector<event> events;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    for (segment const& each : plan_stage(shape, stage).segments) {
      events.push_back({each.start, kind::compute, stage, each});
      if (source_of(shape, {stage, each.virtual_stage}, each.pass))
        events.push_back({each.start, kind::receive, stage, each});
    }
  }
  // One order for all: what is first in it of all that is left can always be done.
  std::ranges::sort(events, {}, [](event const& one) {
    return std::tuple{one.start, one.what == kind::compute, one.stage};
  });
  std::vector<std::vector<step_action>> order(shape.stages);
  for (event const& one : events) {
    auto const [pass, microbatch, virtual_stage, start, duration] = one.pass;
    if (one.what == kind::compute) {
      order[one.stage].push_back({kind::compute, pass, virtual_stage, microbatch, 0});
      continue;
    }
    model_place const from = *source_of(shape, {one.stage, virtual_stage}, pass);
    order[from.stage].push_back({kind::send, pass, from.virtual_stage, microbatch, one.stage});
    order[one.stage].push_back({kind::receive, pass, virtual_stage, microbatch, from.stage});
  }
  return order;
}

}  // namespace lull::bench
