// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/pictures.hpp>

#include <algorithm>

namespace lull {
namespace {

struct shown_segment {
  segment const* what;
  std::int64_t start_ns;
  std::int64_t duration_ns;
};

std::int64_t signed_ns(std::uint64_t ns) { return static_cast<std::int64_t>(ns); }

/// Segments are not stamped one by one, which would cost the trainer time: those between two stamps share what passed
/// there, each by its planned length.
void share_out(std::vector<shown_segment>& into, stage_plan const& plan, std::uint32_t from, std::uint32_t until,
               std::uint64_t begin_ns, std::uint64_t end_ns) {
  std::int64_t planned = 0;
  for (std::uint32_t s = from; s < until; ++s) planned += plan.segments[s].duration.count();
  if (planned == 0 || end_ns <= begin_ns) return;
  double const scale = static_cast<double>(end_ns - begin_ns) / static_cast<double>(planned);
  double at = static_cast<double>(begin_ns - begin_ns);
  for (std::uint32_t s = from; s < until; ++s) {
    double const length = static_cast<double>(plan.segments[s].duration.count()) * scale;
    into.push_back(
        {&plan.segments[s], signed_ns(begin_ns) + static_cast<std::int64_t>(at), static_cast<std::int64_t>(length)});
    at += length;
  }
}

std::vector<shown_segment> segments_of(replayed const& done, stage_plan const& plan, std::uint32_t iterations) {
  std::vector<shown_segment> shown;
  std::size_t b = 0;
  for (std::uint32_t i = 0; i < iterations; ++i) {
    std::uint64_t since_ns = done.iterations[i].begin_ns;
    std::uint32_t next = 0;
    for (; b < done.bubbles.size() && done.bubbles[b].iteration == i; ++b) {
      std::uint32_t const until = plan.gaps[done.bubbles[b].gap].next_segment;
      share_out(shown, plan, next, until, since_ns, done.bubbles[b].moments.begin_ns);
      next = until;
      since_ns = done.bubbles[b].moments.end_ns;
    }
    share_out(shown, plan, next, static_cast<std::uint32_t>(plan.segments.size()), since_ns, done.iterations[i].end_ns);
  }
  return shown;
}

struct shown_work {
  std::int64_t start_ns;
  std::int64_t end_ns;
};

/// From the mean first chunk to the last block out.
std::optional<shown_work> work_of(replayed_bubble const& one) {
  if (!one.harvested || one.harvested->record().blocks == 0) return std::nullopt;
  bubble_record const record = one.harvested->record();
  std::int64_t const start = signed_ns(record.opened_ns + record.in_ns / record.blocks);
  return shown_work{start, std::max(start, signed_ns(record.last_out_ns))};
}

}  // namespace

timeline_lane lane_of(replayed const& done, stage_plan const& plan, std::string const& task, std::uint32_t iterations) {
  timeline_lane lane;
  std::uint32_t const shown = std::min(iterations, static_cast<std::uint32_t>(done.iterations.size()));
  if (shown == 0) return lane;
  std::int64_t const origin = signed_ns(done.iterations.front().begin_ns);
  for (std::uint32_t i = 0; i < shown; ++i)
    lane.iteration_starts_ns.push_back(signed_ns(done.iterations[i].begin_ns) - origin);
  for (shown_segment const& one : segments_of(done, plan, shown)) {
    auto const kind =
        one.what->pass == segment::direction::forward ? timeline_span::kind::forward : timeline_span::kind::backward;
    lane.spans.push_back({kind, one.start_ns - origin, one.duration_ns, std::to_string(one.what->microbatch + 1)});
  }
  for (replayed_bubble const& one : done.bubbles) {
    if (one.iteration >= shown || one.moments.end_ns <= one.moments.begin_ns) continue;
    std::int64_t const begin = signed_ns(one.moments.begin_ns);
    std::int64_t const end = signed_ns(one.moments.end_ns);
    lane.spans.push_back({timeline_span::kind::bubble, begin - origin, end - begin, ""});
    auto const work = work_of(one);
    if (!work) continue;
    std::int64_t const from = std::max(work->start_ns, begin);
    std::int64_t const until = std::min(work->end_ns, end);
    if (until > from) lane.spans.push_back({timeline_span::kind::side_work, from - origin, until - from, task});
  }
  return lane;
}

void add_events(std::vector<trace_event>& into, replayed const& done, stage_plan const& plan) {
  for (shown_segment const& one : segments_of(done, plan, static_cast<std::uint32_t>(done.iterations.size()))) {
    char const* const name = one.what->pass == segment::direction::forward ? "forward" : "backward";
    into.push_back(
        {"training", name, one.start_ns, one.duration_ns, {{"micro-batch", std::int64_t{one.what->microbatch}}}});
  }
  for (replayed_bubble const& one : done.bubbles) {
    if (one.moments.end_ns <= one.moments.begin_ns) continue;
    std::string const site{name_of(plan.gaps[one.gap].site)};
    std::int64_t const begin = signed_ns(one.moments.begin_ns);
    std::int64_t const end = signed_ns(one.moments.end_ns);
    into.push_back({"bubbles", site, begin, end - begin, {{"bubble", signed_ns(one.number)}}});
    auto const work = work_of(one);
    if (!work) continue;
    bubble_record const record = one.harvested->record();
    into.push_back({"workers",
                    "worker",
                    work->start_ns,
                    work->end_ns - work->start_ns,
                    {{"bubble", signed_ns(one.number)},
                     {"blocks", std::int64_t{record.blocks}},
                     {"chunks", signed_ns(record.chunks)},
                     {"items", signed_ns(record.items)}}});
    double const drain_us = static_cast<double>(work->end_ns - end) / 1e3;
    into.push_back({"yields", "last block out", work->end_ns, 0, {{"us after the close", drain_us}}});
  }
}

}  // namespace lull
