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

/// A chunk of a stage.
struct chunk_place {
  std::uint32_t stage;
  std::uint32_t chunk;
};

/// Whose result a pass needs; none: its own stage has all.
std::optional<chunk_place> source_of(schedule_shape const& shape, chunk_place at, pass_kind pass) {
  std::uint32_t const position = at.chunk * shape.stages + at.stage;
  auto const place = [&](std::uint32_t of) { return chunk_place{of % shape.stages, of / shape.stages}; };
  if (pass == pass_kind::weight_gradient) return std::nullopt;
  if (pass == pass_kind::forward) return position == 0 ? std::nullopt : std::optional{place(position - 1)};
  bool const is_last = position + 1 == shape.stages * chunks_of(shape.kind);
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
      if (source_of(shape, {stage, each.chunk}, each.pass)) events.push_back({each.start, kind::receive, stage, each});
    }
  }
  // One order for all: what is first in it of all that is left can always be done.
  std::ranges::sort(events, {}, [](event const& one) {
    return std::tuple{one.start, one.what == kind::compute, one.stage};
  });
  std::vector<std::vector<step_action>> order(shape.stages);
  for (event const& one : events) {
    auto const [pass, microbatch, chunk, start, duration] = one.pass;
    if (one.what == kind::compute) {
      order[one.stage].push_back({kind::compute, pass, chunk, microbatch, 0});
      continue;
    }
    chunk_place const from = *source_of(shape, {one.stage, chunk}, pass);
    order[from.stage].push_back({kind::send, pass, from.chunk, microbatch, one.stage});
    order[one.stage].push_back({kind::receive, pass, chunk, microbatch, from.stage});
  }
  return order;
}

}  // namespace lull::bench
