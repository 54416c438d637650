// SPDX-License-Identifier: Apache-2.0
// Replays on threads: what the trainer is asked for, in which order, and what is kept of it.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/measure/experiment.hpp>
#include <lull/host/measure/replay.hpp>
#include <lull/tests/host/contract/probe_owner.hpp>
#include <lull/tests/host/measure/noting_trainer.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

/// One forward, a gap, two backwards, and a gap at the end.
stage_plan small_plan() {
  using enum pass_kind;
  return {{{forward, 0, 0, 0ns, 1ms}, {backward, 0, 0, 2ms, 2ms}, {backward, 1, 0, 4ms, 2ms}},
          {{gap_site::steady, 1, 1ms, 1ms}, {gap_site::tail, 3, 6ms, 500us}},
          6500us};
}

bool never() { return false; }

TEST(replay, keeps_the_plan_in_order_and_takes_both_arrivals_in_turn) {
  noting_trainer trainer;
  replayed const done = replay(trainer, small_plan(), 2, nullptr, never);
  EXPECT_EQ(trainer.noted(), "replay 2 4 [ F 1000us B B 500us late ] [ F 1000us late B B 500us ]");
  EXPECT_TRUE(done.complete);
  ASSERT_EQ(done.iterations.size(), 2U);
  EXPECT_GE(done.iterations[1].begin_ns, done.iterations[0].end_ns);
  EXPECT_DOUBLE_EQ(done.ms(), static_cast<double>(done.iterations[1].end_ns - done.iterations[0].begin_ns) / 1e6);
  ASSERT_EQ(done.bubbles.size(), 4U);
  for (std::size_t b = 0; b < 4; ++b) {
    replayed_bubble const& one = done.bubbles[b];
    EXPECT_EQ(one.iteration, b / 2);
    EXPECT_EQ(one.gap, b % 2);
    EXPECT_EQ(one.number, 0U);
    EXPECT_FALSE(one.cause.has_value());
    EXPECT_GE(one.moments.end_ns - one.moments.begin_ns, b % 2 == 0 ? 1'000'000U : 500'000U);
    EXPECT_GE(one.moments.begin_ns, done.iterations[b / 2].begin_ns);
    EXPECT_LE(one.moments.end_ns, done.iterations[b / 2].end_ns);
  }
}

TEST(replay, tells_how_often_the_host_was_less_than_a_bubble_ahead) {
  for (bool const slow : {false, true}) {
    noting_trainer trainer;
    trainer.host_is_slow = slow;
    replayed const done = replay(trainer, small_plan(), 12, nullptr, never);
    EXPECT_EQ(done.looks, 3U);
    EXPECT_EQ(done.host_behind, slow ? 3U : 0U);
  }
}

TEST(replay, ends_at_the_next_gap_when_it_is_stopped) {
  noting_trainer trainer;
  int asked = 0;
  replayed const done = replay(trainer, small_plan(), 3, nullptr, [&] { return ++asked > 3; });
  EXPECT_EQ(trainer.noted(), "replay 3 6 [ F 1000us B B 500us late ] [ F 1000us late B B ]");
  EXPECT_FALSE(done.complete);
  EXPECT_EQ(done.bubbles.size(), 3U);
  EXPECT_EQ(done.iterations.size(), 2U);
}

TEST(replay, a_plan_without_gaps_is_work_alone) {
  noting_trainer trainer;
  replayed const done = replay(trainer, {{{pass_kind::forward, 0, 0, 0ns, 1ms}}, {}, 1ms}, 1, nullptr, never);
  EXPECT_EQ(trainer.noted(), "replay 1 0 [ F ]");
  EXPECT_TRUE(done.bubbles.empty());
  EXPECT_DOUBLE_EQ(replayed{}.ms(), 0);
}

TEST(replay, the_host_runs_ahead_by_a_third_of_a_second_at_most) {
  noting_trainer trainer;
  stage_plan const slow{{}, {{gap_site::tail, 0, 0ns, 100ms}}, 100ms};
  replay(trainer, slow, 20, nullptr, never);
  EXPECT_LE(trainer.max_ahead(), 4U);
  EXPECT_GE(trainer.max_ahead(), 3U);
}

runtime_options on_threads(runtime_mode mode = runtime_mode::on) {
  return {
      .executor = {.kind = executor_kind::threads, .processors = 2}, .mode = mode, .tasks = {type_of<probe_task>()}};
}

TEST(replay, its_gaps_are_bubbles_whose_records_come_back) {
  noting_trainer trainer;
  runtime side{on_threads()};
  probe_owner owner{probe_task::mutant::none, 0, {40, 1, 17, 300}};
  owner.prepare(executor_of(side));
  job const work = side.submit(owner.describe());
  await_that([&] { return side.ready(trainer.stream()); });
  std::uint64_t chunks = 0;
  std::uint64_t last = 0;
  for (int i = 0; i < 1000 && !work.wait(0ns); ++i) {
    replayed const done = replay(trainer, small_plan(), 1, &side, never);
    for (replayed_bubble const& one : done.bubbles) {
      if (one.number == 0) continue;  // the job was over
      EXPECT_GT(one.number, last);
      last = one.number;
      ASSERT_TRUE(one.harvested.has_value());
      EXPECT_EQ(one.harvested->record().bubble, one.number);
      EXPECT_EQ(one.harvested->site, name_of(small_plan().gaps[one.gap].site));
    }
    ASSERT_TRUE(chunks_of(done.bubbles).has_value());
    chunks += *chunks_of(done.bubbles);
  }
  EXPECT_EQ(work.progress().state, job_state::finished);
  EXPECT_EQ(chunks, 40U + 1 + 17 + 300);  // of one item each
}

TEST(replay, says_why_a_bubble_was_passed_over) {
  noting_trainer trainer;
  {
    runtime side{on_threads()};
    for (replayed_bubble const& one : replay(trainer, small_plan(), 1, &side, never).bubbles) {
      EXPECT_EQ(one.number, 0U);
      EXPECT_EQ(one.cause, lost_cause::no_job);
    }
  }
  noting_trainer watched;
  runtime side{on_threads(runtime_mode::observe)};
  for (replayed_bubble const& one : replay(watched, small_plan(), 1, &side, never).bubbles) {
    EXPECT_FALSE(one.harvested.has_value());
    EXPECT_EQ(one.cause, lost_cause::no_job);
  }
}

TEST(replay, its_iterations_are_steps_and_those_withheld_have_a_cause) {
  noting_trainer trainer;
  runtime_options bounded = on_threads();
  bounded.max_slowdown = 0.005;
  runtime side{bounded};
  probe_owner owner{probe_task::mutant::none, 0, {1 << 20}};
  owner.prepare(executor_of(side));
  job work = side.submit(owner.describe());
  await_that([&] { return side.ready(trainer.stream()); });
  replayed const done = replay(trainer, small_plan(), 8, &side, never, true);
  step_report const steps = side.steps().report();
  EXPECT_EQ(steps.begun, 8U);
  ASSERT_GT(steps.withheld, 0U);
  std::uint64_t withheld = 0;
  for (replayed_bubble const& one : done.bubbles) {
    EXPECT_EQ(one.number == 0, one.cause == lost_cause::withheld);
    withheld += one.cause == lost_cause::withheld ? 1 : 0;
  }
  EXPECT_EQ(withheld, steps.withheld * small_plan().gaps.size());
  replay(trainer, small_plan(), 1, &side, never);  // marks none
  EXPECT_EQ(side.steps().report().begun, 8U);
  replay(trainer, small_plan(), 8, &side, never, true);
  await_that([&] { return side.steps().report().timed >= 14; });
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(side.steps().report().timed, 14U);  // but for the last ones
  work.cancel();
  EXPECT_TRUE(work.wait(10s));
}

TEST(replay, each_answer_of_the_runtime_has_its_cause) {
  EXPECT_EQ(cause_of(counted::too_short), lost_cause::too_short);
  EXPECT_EQ(cause_of(counted::all_handed_back), lost_cause::grain);
  EXPECT_EQ(cause_of(counted::records_unread), lost_cause::host_late);
  EXPECT_EQ(cause_of(counted::no_job), lost_cause::no_job);
  EXPECT_EQ(cause_of(counted::withheld), lost_cause::withheld);
}

TEST(replay, chunks_are_unknown_where_a_record_is_missing) {
  replayed_bubble counted;
  counted.number = 1;
  counted.harvested.emplace().current.record.chunks = 7;
  replayed_bubble passed_over;
  EXPECT_EQ(chunks_of({counted, passed_over, counted}), 14U);
  replayed_bubble missing;
  missing.number = 2;
  EXPECT_EQ(chunks_of({counted, missing}), std::nullopt);
}

/// What an experiment's treatments saw, in the order of time.
TEST(experiment, treatments_take_turns_and_each_round_goes_the_other_way) {
  noting_trainer trainer;
  std::string seen;
  auto const named = [&](std::string const& name) {
    return treatment{.name = name, .begin = [&seen, name] { seen += name + "("; }, .end = [&seen] { seen += ") "; }};
  };
  std::vector<treatment> const treatments{named("alone"), named("one"), named("two")};
  stage_plan const plan = small_plan();
  for (std::uint64_t round = 0; round < 2; ++round) {
    int before = 0;
    auto const found = replay_by_turns(trainer, plan, 1 + static_cast<std::uint32_t>(round), treatments, round, never,
                                       [&] { ++before; });
    EXPECT_EQ(before, 3);
    ASSERT_EQ(found.size(), 3U);
    for (replayed const& each : found) EXPECT_EQ(each.iterations.size(), round + 1);
    bool const forwards = found[0].iterations[0].begin_ns < found[2].iterations[0].begin_ns;
    EXPECT_EQ(forwards, round == 0) << "the replays stand in the order of the treatments";
  }
  EXPECT_EQ(seen, "alone() one() two() two() one() alone() ");
}

}  // namespace
}  // namespace lull
