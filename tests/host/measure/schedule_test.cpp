// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/measure/schedule.hpp>

namespace lull {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr schedule_kind kinds[] = {schedule_kind::gpipe, schedule_kind::one_forward_one_backward,
                                   schedule_kind::interleaved, schedule_kind::zero_bubble};
constexpr schedule_kind whole_backwards[] = {schedule_kind::gpipe, schedule_kind::one_forward_one_backward};
constexpr nanoseconds forward_time = 2ms;

schedule_shape shape_of(schedule_kind kind, std::uint32_t stages, std::uint32_t microbatches) {
  return {.kind = kind, .stages = stages, .microbatches = microbatches, .forward = forward_time};
}

bool takes(schedule_kind kind, std::uint32_t stages, std::uint32_t microbatches) {
  return kind != schedule_kind::interleaved || microbatches % stages == 0;
}

// "F0 F1 B0 …", with each gap as (length in forwards); I and W are halves of a backward, F0' is of the second virtual
// stage.
std::string drawn(stage_plan const& plan) {
  std::string text;
  std::size_t gap_index = 0;
  auto const gaps_before = [&](std::size_t segment_index) {
    while (gap_index < plan.gaps.size() && plan.gaps[gap_index].next_segment == segment_index) {
      gap const& idle = plan.gaps[gap_index++];
      text += "(" + std::string{name_of(idle.site)} + " " + std::to_string(idle.length / forward_time) + ") ";
    }
  };
  for (std::size_t i = 0; i < plan.segments.size(); ++i) {
    gaps_before(i);
    segment const& work = plan.segments[i];
    text += "FBIW"[static_cast<std::size_t>(work.pass)] + std::to_string(work.microbatch);
    text += work.virtual_stage == 0 ? " " : "' ";
  }
  gaps_before(plan.segments.size());
  text.pop_back();
  return text;
}

auto plans_of(schedule_kind kind, std::uint32_t stages, std::uint32_t microbatches) {
  return [=](std::uint32_t stage) { return drawn(plan_stage(shape_of(kind, stages, microbatches), stage)); };
}

TEST(schedule, one_forward_one_backward_by_hand) {
  auto const plan = plans_of(schedule_kind::one_forward_one_backward, 3, 4);
  EXPECT_EQ(plan(0), "F0 F1 F2 (first backward 4) B0 F3 B1 (cool-down 1) B2 (cool-down 1) B3");
  EXPECT_EQ(plan(1), "(warm-up 1) F0 F1 (first backward 2) B0 F2 B1 F3 B2 (cool-down 1) B3 (tail 2)");
  EXPECT_EQ(plan(2), "(warm-up 2) F0 B0 F1 B1 F2 B2 F3 B3 (tail 4)");
}

TEST(schedule, gpipe_by_hand) {
  auto const plan = plans_of(schedule_kind::gpipe, 3, 2);
  EXPECT_EQ(plan(0), "F0 F1 (first backward 6) B1 B0");
  EXPECT_EQ(plan(1), "(warm-up 1) F0 F1 (first backward 3) B1 B0 (tail 2)");
  EXPECT_EQ(plan(2), "(warm-up 2) F0 F1 B1 B0 (tail 4)");
}

std::chrono::nanoseconds idle_time(stage_plan const& plan) {
  std::chrono::nanoseconds sum{0};
  for (gap const& idle : plan.gaps) sum += idle.length;
  return sum;
}

// A virtual stage is half a stage, so its forward is half a forward: gaps are counted in those.
TEST(schedule, interleaved_by_hand) {
  auto const plan = [](std::uint32_t stage) {
    schedule_shape shape = shape_of(schedule_kind::interleaved, 2, 4);
    shape.forward = 2 * forward_time;
    return drawn(plan_stage(shape, stage));
  };
  EXPECT_EQ(plan(0),
            "F0 F1 F0' F1' F2 (first backward 1) B0' F3 B1' F2' B0 F3' B1 "
            "(cool-down 1) B2' (cool-down 1) B3' B2 B3");
  EXPECT_EQ(plan(1), "(warm-up 1) F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3 (tail 2)");
}

TEST(schedule, zero_bubble_by_hand) {
  auto const plan = plans_of(schedule_kind::zero_bubble, 3, 4);
  EXPECT_EQ(plan(0), "F0 F1 F2 (first backward 2) I0 W0 F3 I1 W1 I2 W2 I3 W3");
  EXPECT_EQ(plan(1), "(warm-up 1) F0 F1 (first backward 1) I0 F2 I1 W0 F3 I2 W1 I3 W2 W3");
  EXPECT_EQ(plan(2), "(warm-up 2) F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3");
}

// Bubble fraction (stages - 1) / (microbatches + stages - 1), for each stage of either schedule.
TEST(schedule, idle_time_is_the_closed_form) {
  for (schedule_kind const kind : whole_backwards) {
    for (std::uint32_t stages : {1u, 2u, 3u, 4u, 8u, 17u}) {
      for (std::uint32_t microbatches : {1u, 2u, 3u, 7u, 8u, 16u, 33u}) {
        for (std::uint32_t stage = 0; stage < stages; ++stage) {
          stage_plan const plan = plan_stage(shape_of(kind, stages, microbatches), stage);
          EXPECT_EQ(plan.length, 3 * forward_time * (microbatches + stages - 1));
          EXPECT_EQ(idle_time(plan), 3 * forward_time * (stages - 1));
        }
      }
    }
  }
}

// With virtual stages half as large the pipeline fills in half the time (Narayanan et al., SC 2021, section 2.2.2).
TEST(schedule, interleaved_halves_the_bubble) {
  for (std::uint32_t stages : {2u, 3u, 4u, 8u}) {
    for (std::uint32_t microbatches : {2 * stages, 3 * stages, 8 * stages}) {
      for (std::uint32_t stage = 0; stage < stages; ++stage) {
        stage_plan const plan = plan_stage(shape_of(schedule_kind::interleaved, stages, microbatches), stage);
        EXPECT_EQ(idle_time(plan), 3 * forward_time * (stages - 1) / 2) << stages << " " << microbatches;
      }
    }
  }
}

// (stages - 1) × (forward + input gradient - weight gradient) (Qi et al., ICLR 2024, table 2, ZB-H1), and activations
// of no more micro-batches than one_forward_one_backward keeps on its first stage.
TEST(schedule, zero_bubble_leaves_a_third_of_the_bubble) {
  for (std::uint32_t stages : {2u, 3u, 4u, 8u}) {
    for (std::uint32_t microbatches : {stages, 2 * stages, 3 * stages + 1}) {
      for (std::uint32_t stage = 0; stage < stages; ++stage) {
        stage_plan const plan = plan_stage(shape_of(schedule_kind::zero_bubble, stages, microbatches), stage);
        EXPECT_EQ(idle_time(plan), forward_time * (stages - 1)) << stages << " " << microbatches << " " << stage;
        std::uint32_t kept = 0;
        for (segment const& work : plan.segments) {
          kept += work.pass == pass_kind::forward;
          kept -= work.pass == pass_kind::weight_gradient;
          EXPECT_LE(kept, stages);
        }
        EXPECT_EQ(kept, 0u);
      }
    }
  }
}

TEST(schedule, segments_and_gaps_tile_the_iteration_and_each_microbatch_goes_both_ways_once) {
  for (schedule_kind const kind : kinds) {
    for (auto const& [stages, microbatches] : {std::pair{1u, 5u}, {4u, 8u}, {8u, 3u}, {5u, 5u}, {3u, 1u}}) {
      if (!takes(kind, stages, microbatches)) continue;
      for (std::uint32_t stage = 0; stage < stages; ++stage) {
        stage_plan const plan = plan_stage(shape_of(kind, stages, microbatches), stage);
        std::map<nanoseconds, nanoseconds> spans;
        std::set<std::tuple<pass_kind, std::uint32_t, std::uint32_t>> seen;
        for (segment const& work : plan.segments) {
          EXPECT_TRUE(spans.emplace(work.start, work.duration).second);
          EXPECT_TRUE(seen.emplace(work.pass, work.virtual_stage, work.microbatch).second);
          EXPECT_LT(work.microbatch, microbatches);
          EXPECT_LT(work.virtual_stage, virtual_stages_of(kind));
        }
        for (gap const& idle : plan.gaps) EXPECT_TRUE(spans.emplace(idle.start, idle.length).second);
        EXPECT_EQ(seen.size(), (kind == schedule_kind::zero_bubble ? 3 : 2) * microbatches * virtual_stages_of(kind));
        nanoseconds end{0};
        for (auto const& [start, length] : spans) {
          EXPECT_EQ(start, end);
          EXPECT_GT(length, 0ns);
          end = start + length;
        }
        EXPECT_EQ(end, plan.length);
      }
    }
  }
}

// Between neighbours in the model: nothing starts before what it needs is done.
TEST(schedule, dependencies_hold_between_stages) {
  for (schedule_kind const kind : kinds) {
    for (auto const& [stages, microbatches] : {std::pair{4u, 8u}, {6u, 2u}}) {
      if (!takes(kind, stages, microbatches)) continue;
      std::map<std::pair<std::uint32_t, std::uint32_t>, segment> forward, backward, weights;
      for (std::uint32_t stage = 0; stage < stages; ++stage) {
        for (segment const& work : plan_stage(shape_of(kind, stages, microbatches), stage).segments) {
          auto& such = work.pass == pass_kind::forward           ? forward
                       : work.pass == pass_kind::weight_gradient ? weights
                                                                 : backward;
          such[{work.virtual_stage * stages + stage, work.microbatch}] = work;
        }
      }
      auto const end = [](segment const& work) { return work.start + work.duration; };
      std::uint32_t const last = stages * virtual_stages_of(kind) - 1;
      for (std::uint32_t m = 0; m < microbatches; ++m) {
        for (std::uint32_t at = 0; at < last; ++at) {
          EXPECT_GE((forward[{at + 1, m}].start), end(forward[{at, m}]));
          EXPECT_GE((backward[{at, m}].start), end(backward[{at + 1, m}]));
        }
        EXPECT_GE((backward[{last, m}].start), end(forward[{last, m}]));
      }
      for (auto const& [at, work] : weights) EXPECT_GE(work.start, end(backward[at]));
    }
  }
}

TEST(schedule, gpipe_and_1f_1b_have_the_same_bubble_in_another_shape) {
  stage_plan const gpipe = plan_stage(shape_of(schedule_kind::gpipe, 4, 8), 0);
  stage_plan const paired = plan_stage(shape_of(schedule_kind::one_forward_one_backward, 4, 8), 0);
  EXPECT_EQ(idle_time(gpipe), idle_time(paired));
  EXPECT_EQ(gpipe.gaps.size(), 1u);
  EXPECT_EQ(max_gap(gpipe), 9 * forward_time);
  EXPECT_EQ(paired.gaps.size(), 4u);
  EXPECT_EQ(max_gap(paired), 6 * forward_time);
}

TEST(schedule, one_stage_never_idles) {
  for (schedule_kind const kind : kinds) {
    stage_plan const plan = plan_stage(shape_of(kind, 1, 8), 0);
    EXPECT_TRUE(plan.gaps.empty());
    EXPECT_EQ(max_gap(plan), 0ns);
    EXPECT_EQ(plan.length, 24 * forward_time);
  }
  EXPECT_EQ(drawn(plan_stage(shape_of(schedule_kind::one_forward_one_backward, 1, 3), 0)), "F0 B0 F1 B1 F2 B2");
}

// Fewer micro-batches than stages: the pairs vanish, and the schedules are the same but for the order of backwards.
TEST(schedule, fewer_microbatches_than_stages) {
  auto const plan = plans_of(schedule_kind::one_forward_one_backward, 4, 2);
  EXPECT_EQ(plan(0), "F0 F1 (first backward 8) B0 (cool-down 1) B1");
  EXPECT_EQ(plan(3), "(warm-up 3) F0 B0 F1 B1 (tail 6)");
}

TEST(schedule, large_shapes) {
  for (schedule_kind const kind : kinds) {
    schedule_shape shape = shape_of(kind, 512, 2048);
    shape.forward = 1min;
    int const bubbles = kind == schedule_kind::zero_bubble ? 1 : 3;  // forwards, for each other stage
    int const virtual_stages = static_cast<int>(virtual_stages_of(kind));
    EXPECT_EQ(plan_stage(shape, 511).length, 3 * 1min * 2048 + bubbles * nanoseconds{1min} * 511 / virtual_stages);
    EXPECT_EQ(idle_time(plan_stage(shape_of(kind, 16, 65'536), 7)), bubbles * forward_time * 15 / virtual_stages);
  }
}

TEST(schedule, limits_are_refused_with_their_reason) {
  auto const message = [](schedule_shape shape, std::uint32_t stage) {
    try {
      plan_stage(shape, stage);
    } catch (usage_error const& wrong) {
      return std::string{wrong.what()};
    }
    return std::string{"nothing was thrown"};
  };
  schedule_shape const good = shape_of(schedule_kind::gpipe, 4, 8);
  auto const with = [&](auto change) {
    schedule_shape shape = good;
    change(shape);
    return shape;
  };
  EXPECT_EQ(message(good, 4), "there is no stage 4: with 4 stages it must be 0 to 3");
  EXPECT_EQ(message(with([](auto& s) { s.stages = 0; }), 0), "the number of stages is 0: it must be 1 to 1024");
  EXPECT_NE(message(with([](auto& s) { s.stages = 1025; }), 0).find("1 to 1024"), std::string::npos);
  EXPECT_NE(message(with([](auto& s) { s.microbatches = 0; }), 0).find("1 to 65536"), std::string::npos);
  EXPECT_NE(message(with([](auto& s) { s.microbatches = 65'537; }), 0).find("1 to 65536"), std::string::npos);
  EXPECT_NE(message(shape_of(schedule_kind::gpipe, 1024, 1025), 0).find("times"), std::string::npos);
  EXPECT_EQ(
      message(shape_of(schedule_kind::interleaved, 4, 6), 0),
      "an interleaved schedule takes micro-batches in groups of as many as there are stages: 6 is no multiple of 4");
  EXPECT_NE(message(with([](auto& s) { s.forward = 999ns; }), 0).find("999ns is out of range"), std::string::npos);
  EXPECT_NE(message(with([](auto& s) { s.forward = 61s; }), 0).find("out of range"), std::string::npos);
}

TEST(schedule, forward_time_for_a_wanted_gap) {
  schedule_shape shape = shape_of(schedule_kind::one_forward_one_backward, 4, 8);
  EXPECT_EQ(forward_for_max_gap(shape, 0, 10ms), 1'666'667ns);
  shape.forward = forward_for_max_gap(shape, 0, 12ms);
  EXPECT_EQ(max_gap(plan_stage(shape, 0)), 12ms);
  EXPECT_THROW(forward_for_max_gap(shape, 0, 1us), usage_error);
  EXPECT_THROW(forward_for_max_gap(shape_of(schedule_kind::gpipe, 1, 8), 0, 1ms), usage_error);
}

TEST(schedule, names_both_ways) {
  for (schedule_kind const kind : kinds) EXPECT_EQ(parse_schedule(name_of(kind)), kind);
  EXPECT_THROW(parse_schedule("1f2b"), usage_error);
}

}  // namespace
}  // namespace lull
