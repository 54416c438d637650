// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <lull/bench/pipeline/step_order.hpp>
#include <lull/host/error.hpp>

namespace lull::bench {
namespace {

using namespace std::chrono_literals;
using kind = step_action::kind;
using stage_orders = std::vector<std::vector<step_action>>;

constexpr schedule_kind kinds[] = {schedule_kind::gpipe, schedule_kind::one_forward_one_backward,
                                   schedule_kind::interleaved, schedule_kind::zero_bubble};

schedule_shape shape_of(schedule_kind of, std::uint32_t stages, std::uint32_t microbatches) {
  return {.kind = of, .stages = stages, .microbatches = microbatches, .forward = 2ms};
}

template <class Check>
void for_each_shape(Check check) {
  for (schedule_kind const of : kinds) {
    for (auto const& [stages, microbatches] : {std::pair{2u, 2u}, {2u, 4u}, {3u, 6u}, {4u, 4u}, {4u, 16u}, {8u, 8u}}) {
      SCOPED_TRACE(std::string{name_of(of)} + " " + std::to_string(stages) + " " + std::to_string(microbatches));
      schedule_shape const shape = shape_of(of, stages, microbatches);
      check(shape, step_order(shape));
    }
  }
}

// "F0 >F0 <B0 B0": the arrows are ends of transfers.
std::string drawn(std::vector<step_action> const& order) {
  std::string text;
  for (step_action const& each : order) {
    text += each.what == kind::send ? " >" : each.what == kind::receive ? " <" : " ";
    text += "FBIW"[static_cast<std::size_t>(each.pass)] + std::to_string(each.microbatch);
    if (each.virtual_stage != 0) text += "'";
  }
  return text.substr(1);
}

TEST(step_order, one_forward_one_backward_by_hand) {
  stage_orders const orders = step_order(shape_of(schedule_kind::one_forward_one_backward, 2, 3));
  EXPECT_EQ(drawn(orders[0]), "F0 >F0 F1 <B0 >F1 B0 F2 <B1 >F2 B1 <B2 B2");
  EXPECT_EQ(drawn(orders[1]), "<F0 F0 B0 >B0 <F1 F1 B1 >B1 <F2 F2 B2 >B2");
}

// Each transfer takes both ends at once, and no stage goes on before it is done.
TEST(step_order, ends_where_actions_are_done_one_by_one) {
  for_each_shape([](schedule_shape const& shape, stage_orders const& orders) {
    std::vector<std::size_t> next(shape.stages, 0);
    auto const at = [&](std::uint32_t stage) {
      return next[stage] < orders[stage].size() ? &orders[stage][next[stage]] : nullptr;
    };
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        step_action const* const now = at(stage);
        if (now == nullptr || now->what == kind::receive) continue;
        if (now->what == kind::send) {
          step_action const* const other = at(now->peer);
          if (other == nullptr || other->what != kind::receive || other->peer != stage) continue;
          ASSERT_EQ(std::tuple(other->pass, other->microbatch), std::tuple(now->pass, now->microbatch));
          ++next[now->peer];
        }
        ++next[stage];
        moved = true;
      }
    }
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) EXPECT_EQ(next[stage], orders[stage].size());
  });
}

TEST(step_order, has_each_pass_of_the_plan_in_its_order) {
  for_each_shape([](schedule_shape const& shape, stage_orders const& orders) {
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      std::vector<step_action> planned;
      for (segment const& each : plan_stage(shape, stage).segments)
        planned.push_back({kind::compute, each.pass, each.virtual_stage, each.microbatch, 0});
      std::vector<step_action> computed;
      std::ranges::copy_if(orders[stage], std::back_inserter(computed),
                           [](step_action const& one) { return one.what == kind::compute; });
      EXPECT_EQ(computed, planned);
    }
  });
}

// An activation goes to the next virtual stage of the model, a gradient to the one before; nothing is received in
// advance.
TEST(step_order, transfers_are_what_passes_need) {
  for_each_shape([](schedule_shape const& shape, stage_orders const& orders) {
    std::uint32_t const last = shape.stages * virtual_stages_of(shape.kind) - 1;
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      std::set<std::tuple<pass_kind, std::uint32_t, std::uint32_t>> done, received;
      for (std::size_t i = 0; i < orders[stage].size(); ++i) {
        step_action const& now = orders[stage][i];
        std::uint32_t const position = now.virtual_stage * shape.stages + stage;
        bool const forward = now.pass == pass_kind::forward;
        if (now.what == kind::compute) {
          bool const needs = forward ? position != 0 : position != last && now.pass != pass_kind::weight_gradient;
          EXPECT_EQ(needs, received.contains({now.pass, now.virtual_stage, now.microbatch}));
          done.emplace(now.pass, now.virtual_stage, now.microbatch);
        } else if (now.what == kind::send) {
          EXPECT_TRUE(done.contains({now.pass, now.virtual_stage, now.microbatch}));
          EXPECT_EQ(now.peer, (position + (forward ? 1 : shape.stages - 1)) % shape.stages);
        } else {
          EXPECT_TRUE(received.emplace(now.pass, now.virtual_stage, now.microbatch).second);
          EXPECT_EQ(now.peer, (position + (forward ? shape.stages - 1 : 1)) % shape.stages);
          auto const follows = std::find_if(orders[stage].begin() + static_cast<std::ptrdiff_t>(i), orders[stage].end(),
                                            [](step_action const& one) { return one.what == kind::compute; });
          ASSERT_NE(follows, orders[stage].end());
          EXPECT_EQ(std::tuple(follows->pass, follows->virtual_stage, follows->microbatch),
                    std::tuple(now.pass, now.virtual_stage, now.microbatch));
        }
      }
    }
  });
}

TEST(step_order, a_single_stage_is_no_pipeline) {
  EXPECT_THROW(step_order(shape_of(schedule_kind::gpipe, 1, 4)), usage_error);
}

}  // namespace
}  // namespace lull::bench
