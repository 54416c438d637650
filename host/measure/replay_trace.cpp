// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/replay_trace.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <lull/host/report/time_text.hpp>

namespace lull {
namespace {

std::int64_t signed_ns(std::uint64_t ns) { return static_cast<std::int64_t>(ns); }

/// "forward 3", and where stages hold several virtual stages, "forward 3, virtual stage 2".
std::string text_of(segment const& one, bool is_interleaved) {
  constexpr std::array<std::string_view, 4> passes{"forward ", "backward ", "input gradient ", "weight gradient "};
  std::string made{passes[static_cast<std::size_t>(one.pass)]};
  made += std::to_string(one.microbatch + 1);
  if (is_interleaved) made += ", virtual stage " + std::to_string(one.virtual_stage + 1);
  return made;
}

/// Segments are not stamped one by one, which would cost the trainer time: those between two stamps share what passed
/// there, each by its planned length.
void add_segments(std::vector<trace_event>& into, replayed const& done, stage_plan const& plan,
                  replay_place const& place) {
  bool const is_interleaved =
      std::ranges::any_of(plan.segments, [](segment const& one) { return one.virtual_stage != 0; });
  auto const share_out = [&](std::uint32_t from, std::uint32_t until, std::uint64_t begin_ns, std::uint64_t end_ns) {
    std::int64_t planned = 0;
    for (std::uint32_t s = from; s < until; ++s) planned += plan.segments[s].duration.count();
    if (planned == 0 || end_ns <= begin_ns) return;
    double const scale = static_cast<double>(end_ns - begin_ns) / static_cast<double>(planned);
    double at = 0;
    for (std::uint32_t s = from; s < until; ++s) {
      segment const& one = plan.segments[s];
      double const length = static_cast<double>(one.duration.count()) * scale;
      into.push_back({place.lane + ": training",
                      text_of(one, is_interleaved),
                      signed_ns(begin_ns) + static_cast<std::int64_t>(at),
                      static_cast<std::int64_t>(length),
                      {}});
      at += length;
    }
  };
  std::size_t b = 0;
  for (std::uint32_t i = 0; i < done.iterations.size(); ++i) {
    std::uint64_t since_ns = done.iterations[i].begin_ns;
    std::uint32_t next = 0;
    for (; b < done.bubbles.size() && done.bubbles[b].iteration == i; ++b) {
      std::uint32_t const until = plan.gaps[done.bubbles[b].gap].next_segment;
      share_out(next, until, since_ns, done.bubbles[b].moments.begin_ns);
      next = until;
      since_ns = done.bubbles[b].moments.end_ns;
    }
    share_out(next, static_cast<std::uint32_t>(plan.segments.size()), since_ns, done.iterations[i].end_ns);
  }
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

/// What of an iteration was bubbles, and side work inside them.
struct idle_parts {
  std::int64_t bubbles_ns = 0;
  std::int64_t side_work_ns = 0;
};

std::vector<idle_parts> idle_parts_of(replayed const& done) {
  std::vector<idle_parts> parts(done.iterations.size());
  for (replayed_bubble const& one : done.bubbles) {
    if (one.iteration >= parts.size() || one.moments.end_ns <= one.moments.begin_ns) continue;
    std::int64_t const begin = signed_ns(one.moments.begin_ns);
    std::int64_t const end = signed_ns(one.moments.end_ns);
    parts[one.iteration].bubbles_ns += end - begin;
    if (auto const work = work_of(one)) {
      parts[one.iteration].side_work_ns +=
          std::max(std::int64_t{0}, std::min(work->end_ns, end) - std::max(work->start_ns, begin));
    }
  }
  return parts;
}

std::string share(std::int64_t part_ns, std::int64_t whole_ns) {
  return percent_text(whole_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(whole_ns) : 0);
}

void add_iterations(std::vector<trace_event>& into, replayed const& done, replay_place const& place) {
  std::vector<idle_parts> const parts = idle_parts_of(done);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::int64_t const begin = signed_ns(done.iterations[i].begin_ns);
    std::int64_t const length = signed_ns(done.iterations[i].end_ns) - begin;
    into.push_back({place.lane + ": iterations",
                    "iteration " + std::to_string(i + 1),
                    begin,
                    length,
                    {{"pair", std::int64_t{place.pair}},
                     {"bubbles", share(parts[i].bubbles_ns, length) + " of the iteration"},
                     {"side work in bubbles", share(parts[i].side_work_ns, length) + " of the iteration"}}});
  }
}

void add_bubble(std::vector<trace_event>& into, replayed_bubble const& one, std::string_view site,
                replay_place const& place) {
  std::int64_t const begin = signed_ns(one.moments.begin_ns);
  std::int64_t const end = signed_ns(one.moments.end_ns);
  into.push_back(
      {place.lane + ": bubbles", std::string{site}, begin, end - begin, {{"bubble", signed_ns(one.number)}}});
  auto const work = work_of(one);
  if (!work) return;
  bubble_record const record = one.harvested->record();
  into.push_back({place.lane + ": workers",
                  place.side_work,
                  work->start_ns,
                  work->end_ns - work->start_ns,
                  {{"bubble", signed_ns(one.number)},
                   {"blocks", std::int64_t{record.blocks}},
                   {"chunks", signed_ns(record.chunks)},
                   {"items", signed_ns(record.items)}}});
  double const drain_us = static_cast<double>(work->end_ns - end) / 1e3;
  into.push_back({place.lane + ": yields", "last block out", work->end_ns, 0, {{"us after the close", drain_us}}});
}

}  // namespace

std::int64_t add_events(std::vector<trace_event>& into, replayed const& done, stage_plan const& plan,
                        replay_place const& place) {
  if (done.iterations.empty()) return place.begin_ns;
  std::size_t const first = into.size();
  add_iterations(into, done, place);
  add_segments(into, done, plan, place);
  for (replayed_bubble const& one : done.bubbles) {
    if (one.moments.end_ns > one.moments.begin_ns) add_bubble(into, one, name_of(plan.gaps[one.gap].site), place);
  }
  std::int64_t const moved_ns = place.begin_ns - signed_ns(done.iterations.front().begin_ns);
  for (std::size_t i = first; i < into.size(); ++i) into[i].start_ns += moved_ns;
  return signed_ns(done.iterations.back().end_ns) + moved_ns;
}

}  // namespace lull
