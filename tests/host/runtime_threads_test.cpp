// SPDX-License-Identifier: Apache-2.0
// The runtime over the threads executor: bubbles on a trainer's stream, jobs placed, paused, cancelled and destroyed.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/halt.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class runtime_on_threads : public testing::TestWithParam<int> {
 protected:
  runtime_options options(runtime_mode mode = runtime_mode::on) const {
    return {.executor = {.kind = executor_kind::threads, .processors = 3, .team_width = GetParam()},
            .mode = mode,
            .tasks = {type_of<probe_task>()}};
  }

  /// Runs bubbles on `trainer` until the job ends. `gap` is the trainer's own wait; one bubble in four is a hundred
  /// times as long, because a site where nothing is ever done would be passed over.
  template <class Ended>
  void train(runtime& side, threads_stream& trainer, Ended ended, std::chrono::microseconds gap = 100us) {
    for (int i = 1; !ended(); ++i) {
      {
        bubble const idle{side, &trainer, site{"wait"}};
        trainer.enqueue([wait = i % 4 == 0 ? 100 * gap : gap] { std::this_thread::sleep_for(wait); });
      }
      trainer.synchronize();
    }
  }
  static bool is_over(job const& task) {
    job_state const s = task.progress().state;
    return s == job_state::finished || s == job_state::failed || s == job_state::cancelled;
  }
};

TEST_P(runtime_on_threads, a_job_is_done_in_bubbles_exactly_once) {
  probe_arrays arrays{{40, 1, 0, 17, 300, 2}};
  threads_stream trainer;
  runtime side{options()};
  job const task = side.submit(arrays.task(), "probe");
  train(side, trainer, [&] { return is_over(task); });
  ASSERT_TRUE(task.wait(long_enough));
  EXPECT_EQ(task.progress().state, job_state::finished);
  EXPECT_EQ(task.progress().items, 360U);
  EXPECT_STREQ(arrays.wrong(), nullptr);
}

TEST_P(runtime_on_threads, polling_chunks_are_handed_back_and_still_done_once) {
  probe_arrays arrays{{200, 50, 3}};
  probe_task probe = arrays.task();
  probe.polls = 3;
  threads_stream trainer;
  runtime side{options()};
  job const task = side.submit(probe);
  train(
      side, trainer, [&] { return is_over(task); }, 20us);
  ASSERT_TRUE(task.wait(long_enough));
  EXPECT_STREQ(arrays.wrong(), nullptr);
}

TEST_P(runtime_on_threads, two_jobs_and_a_third_waiting_all_end) {
  std::vector<std::unique_ptr<probe_arrays>> arrays;
  std::vector<job> jobs;
  threads_stream trainer;
  runtime side{options()};
  for (int i = 0; i < 3; ++i) {
    arrays.push_back(std::make_unique<probe_arrays>(std::vector<std::uint64_t>{20, 30, 5}));
    jobs.push_back(side.submit(arrays.back()->task()));
  }
  train(side, trainer, [&] { return is_over(jobs[0]) && is_over(jobs[1]) && is_over(jobs[2]); });
  for (auto const& each : arrays) EXPECT_STREQ(each->wrong(), nullptr);
}

TEST_P(runtime_on_threads, a_worker_that_was_enqueued_for_one_kind_of_task_never_meets_another) {
  probe_arrays one{{20, 30, 5}};
  probe_arrays other{{20, 30, 5}};
  float sink = 0;
  compute_task const compute{&sink, 64, 300, 10};
  threads_stream trainer;
  runtime side{options()};
  std::vector<job> jobs{side.submit(one.task()), side.submit(other.task())};
  for (job const& each : jobs) {
    await_that([&] { return each.progress().state == job_state::placed; });
  }
  halt stands;
  trainer.enqueue(stands.operation());
  for (int i = 0; i < 60; ++i) {  // all for the probes, which are done in the first of them
    bubble const idle{side, &trainer, site{"wait"}};
    trainer.enqueue([] { std::this_thread::sleep_for(1ms); });
  }
  for (int i = 0; i < 2; ++i) jobs.push_back(side.submit(compute));  // these take the places that the probes leave
  stands.let_go();
  trainer.synchronize();
  train(side, trainer, [&] { return is_over(jobs[2]) && is_over(jobs[3]); });
  for (job const& each : jobs) EXPECT_EQ(each.progress().state, job_state::finished);
  for (int i : {2, 3}) EXPECT_EQ(jobs[static_cast<std::size_t>(i)].progress().items, 64U * 300);
  EXPECT_STREQ(one.wrong(), nullptr);
  EXPECT_STREQ(other.wrong(), nullptr);
}

TEST_P(runtime_on_threads, a_higher_priority_goes_first) {
  probe_arrays low{{10}};
  probe_arrays high{{10}};
  runtime side{options()};
  // Two jobs take both places first, so that the queue's order decides.
  probe_arrays a{{1000000}};
  probe_arrays b{{1000000}};
  job first = side.submit(a.task());
  job second = side.submit(b.task());
  threads_stream trainer;
  await_that(
      [&] { return first.progress().state == job_state::placed && second.progress().state == job_state::placed; });
  job_description quiet = describe(low.task(), "low");
  job_description loud = describe(high.task(), "high");
  loud.priority = 1;
  job const later = side.submit(quiet);
  job const sooner = side.submit(loud);
  first.cancel();
  await_that([&] { return sooner.progress().state == job_state::placed; });
  EXPECT_EQ(later.progress().state, job_state::queued);
}

TEST_P(runtime_on_threads, pause_keeps_the_place_and_resume_ends_the_job) {
  probe_arrays arrays{{5000, 5000}};
  threads_stream trainer;
  runtime side{options()};
  job task = side.submit(arrays.task());
  for (int i = 0; i < 5; ++i) {
    task.pause();
    train(side, trainer, [&] { return is_over(task) || task.progress().state == job_state::paused; });
    if (is_over(task)) break;
    EXPECT_FALSE(task.wait(1ms));
    task.resume();
    train(side, trainer, [&] { return is_over(task) || task.progress().state == job_state::placed; });
  }
  train(side, trainer, [&] { return is_over(task); });
  EXPECT_STREQ(arrays.wrong(), nullptr);
}

TEST_P(runtime_on_threads, cancel_is_final_and_leaves_nobody_inside) {
  probe_arrays arrays{{1u << 23}};  // more than some bubbles can do, however slow this computer is
  threads_stream trainer;
  runtime side{options()};
  job task = side.submit(arrays.task());
  for (int i = 0; i < 20; ++i) train(side, trainer, [n = 0]() mutable { return n++ > 0; });
  task.cancel();
  task.cancel();
  ASSERT_TRUE(task.wait(long_enough));
  task.resume();
  std::vector<std::uint32_t> const before = arrays.runs;
  EXPECT_EQ(task.progress().state, job_state::cancelled);
  train(side, trainer, [n = 0]() mutable { return n++ > 10; });
  EXPECT_EQ(arrays.runs, before);
  std::uint64_t ran = 0;
  for (std::uint32_t runs : before) ran += runs;
  EXPECT_EQ(task.progress().items, ran);
}

TEST_P(runtime_on_threads, is_destroyed_inside_an_open_bubble_and_with_work_left) {
  probe_arrays arrays{{1u << 20}};
  threads_stream trainer;
  job task;
  {
    runtime side{options()};
    task = side.submit(arrays.task());
    await_that([&] { return side.ready(&trainer); });
    bubble_id const id = side.open(&trainer, site{"wait"});
    side.close(id, &trainer);
    side.open(&trainer, site{"wait"});
  }
  EXPECT_EQ(task.progress().state, job_state::cancelled);
}

TEST_P(runtime_on_threads, wrong_opens_and_closes_are_counted_and_harmless) {
  probe_arrays arrays{{1000}};
  threads_stream trainer;
  runtime side{options()};
  job const task = side.submit(arrays.task());
  await_that([&] { return side.ready(&trainer); });
  bubble_id const id = side.open(&trainer, site{"a"});
  bubble_id const nested = side.open(&trainer, site{"b"});
  EXPECT_EQ(nested.bubble, 0U);
  side.close(nested, &trainer);
  side.close(id, &trainer);
  side.close(id, &trainer);
  side.close(bubble_id{}, &trainer);
  EXPECT_EQ(side.counts()[counted::nested], 1U);
  EXPECT_EQ(side.counts()[counted::unmatched], 1U);
  train(side, trainer, [&] { return is_over(task); });
  EXPECT_STREQ(arrays.wrong(), nullptr);
}

TEST_P(runtime_on_threads, a_task_that_never_ends_does_not_keep_the_runtime) {
  probe_arrays arrays{{1u << 30 >> 8}};
  threads_stream trainer;
  runtime side{options()};
  job const task = side.submit(arrays.task());
  train(side, trainer, [n = 0]() mutable { return n++ > 3; });
  EXPECT_FALSE(task.wait(0ns));
}

TEST_P(runtime_on_threads, bubbles_are_reported_and_account_for_every_item) {
  probe_arrays arrays{{3000}};
  threads_stream trainer;
  runtime side{options()};
  job const task = side.submit(arrays.task());
  train(
      side, trainer, [&] { return is_over(task); }, 500us);
  std::vector<bubble_report> found;
  await_that([&] {
    for (auto& one : side.take_bubbles()) found.push_back(one);
    return found.size() >= side.counts()[counted::opened];
  });
  std::uint64_t items = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].site, "wait");
    EXPECT_EQ(found[i].record().bubble, i + 1);
    // Only blocks that saw the close know the length; in the last bubbles all may have found the job finished.
    if (found[i].record().not_saw_ns != 0) {
      EXPECT_GT(found[i].length, 0us);
    }
    items += found[i].record().items;
  }
  EXPECT_EQ(items, 3000U);
}

TEST_P(runtime_on_threads, a_report_tells_how_much_memory_was_free) {
  constexpr std::size_t limit = 64 << 20;
  for (std::size_t const allowed : {limit, std::size_t{0}}) {
    runtime_options asked = options(runtime_mode::observe);
    asked.executor.memory_limit_bytes = allowed;
    threads_stream trainer;
    runtime side{asked};
    train(side, trainer, [&] { return side.summary().seen() >= 8; });
    ASSERT_EQ(side.summary().sites().size(), 1U);
    auto const free = side.summary().sites().front().min_free_bytes;
    EXPECT_EQ(free.has_value(), allowed != 0);
    EXPECT_LE(free.value_or(1), limit);
    EXPECT_GT(free.value_or(1), 0U);
  }
}

/// Lets the trainer's stream run to its end, and waits for the bubbles that are reported then.
std::vector<bubble_report> reports_behind(halt& stands, threads_stream& trainer, runtime& side) {
  stands.let_go();
  trainer.synchronize();
  std::vector<bubble_report> found;
  await_that([&] { return !(found = side.take_bubbles()).empty(); });
  return found;
}

TEST_P(runtime_on_threads, a_bubble_whose_job_went_is_reported_once_the_stream_has_come_to_it) {
  probe_arrays arrays{{10}};
  probe_arrays next{{10}};
  halt stands;
  threads_stream trainer;
  runtime side{options()};
  job task = side.submit(arrays.task());
  await_that([&] { return side.ready(&trainer); });
  trainer.enqueue(stands.operation());
  bubble_id const id = side.open(&trainer, site{"wait"});
  EXPECT_NE(id.bubble, 0U);
  task.cancel();
  await_that([&] { return !side.ready(&trainer); });
  side.close(id, &trainer);
  EXPECT_EQ(side.counts()[counted::launches], 0U);
  job const later = side.submit(next.task());
  await_that(
      [&] { return later.progress().state == job_state::placed; });  // the dispatcher has made its rounds meanwhile
  EXPECT_TRUE(side.take_bubbles().empty());
  std::vector<bubble_report> const found = reports_behind(stands, trainer, side);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].record().bubble, id.bubble);
  EXPECT_NE(found[0].opened_ns, 0);
}

TEST_P(runtime_on_threads, a_report_tells_what_of_a_bubble_the_successor_did) {
  probe_arrays arrays{{10, 20}};
  probe_arrays behind{{3, 4}};
  halt stands;
  threads_stream trainer;
  runtime side{options()};
  job const first = side.submit(arrays.task());
  job const second = side.submit(behind.task());
  await_that(
      [&] { return first.progress().state == job_state::placed && second.progress().state == job_state::placed; });
  bubble_id const id = side.open(&trainer, site{"wait"});
  trainer.enqueue(stands.operation());
  side.close(id, &trainer);
  await_that([&] { return is_over(first) && is_over(second); });
  std::vector<bubble_report> const found = reports_behind(stands, trainer, side);
  ASSERT_EQ(found.size(), 1U);
  bubble_report const& one = found.front();
  EXPECT_EQ(one.record().items, 37U);
  EXPECT_EQ(one.successor.record.items, 7U);
  EXPECT_NE(one.current.launched, 0U);
  EXPECT_EQ(one.successor.launched, one.current.launched);
  EXPECT_GE(one.record().last_out_ns, one.successor.record.last_out_ns);
  EXPECT_GE(one.record().last_in_ns, one.successor.record.last_in_ns);
  EXPECT_NE(one.successor.record.last_in_ns, 0U);
}

TEST_P(runtime_on_threads, control_from_another_thread_while_bubbles_go_on_loses_nothing) {
  probe_arrays arrays{{300, 1, 4000, 20, 4000, 300}};
  probe_arrays beside{{300, 1, 4000, 20, 4000, 300}};
  threads_stream trainer;
  runtime side{options()};
  job_description urgent = describe(beside.task(), "urgent");
  urgent.priority = 3;
  job const task = side.submit(arrays.task());
  job const other = side.submit(urgent);
  std::atomic<bool> ended{false};
  std::thread controller{[&] {
    for (int i = 0; i < 30 && !(is_over(task) && is_over(other)); ++i) {
      job{task}.pause();
      job{other}.pause();
      job{other}.resume();
      job{task}.resume();
      if (side.pause_all(long_enough)) {
        auto const before = arrays.runs;
        std::this_thread::sleep_for(1ms);
        EXPECT_EQ(arrays.runs, before);
        side.resume_all();
      }
      std::this_thread::sleep_for(2ms);
    }
    EXPECT_TRUE(side.wait_all(long_enough));
    ended = true;
  }};
  train(side, trainer, [&] { return ended.load(); });
  controller.join();
  EXPECT_EQ(task.progress().state, job_state::finished);
  EXPECT_EQ(other.progress().state, job_state::finished);
  EXPECT_STREQ(arrays.wrong(), nullptr);
  EXPECT_STREQ(beside.wrong(), nullptr);
  EXPECT_TRUE(side.wait_all(0ns));
}

TEST_P(runtime_on_threads, a_stream_that_waits_for_another_through_a_peer_is_never_kept_waiting) {
  for (bool const waits_inside : {false, true}) {
    for (bool const a_first : {false, true}) {
      probe_arrays arrays{{1u << 20}};
      threads_stream a;
      threads_stream b;
      runtime side{options()};
      job task = side.submit(arrays.task());
      await_that([&] { return side.ready(&a); });
      for (int i = 0; i < 20; ++i) {
        auto const set = std::make_shared<halt>();
        auto const wait = set->operation();
        auto const on_a = [&] {
          if (!waits_inside) a.enqueue(wait);
          bubble const idle{side, &a, site{"a"}};
          if (waits_inside) a.enqueue(wait);
        };
        auto const on_b = [&] {
          { bubble const idle{side, &b, site{"b"}}; }
          b.enqueue([set] { set->let_go(); });
        };
        if (a_first) on_a();
        on_b();
        if (!a_first) on_a();
        b.synchronize();
        a.synchronize();
      }
      task.cancel();
      EXPECT_TRUE(task.wait(long_enough));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(teams, runtime_on_threads, testing::Values(1, 4),
                         [](auto const& info) { return "of_" + std::to_string(info.param); });

}  // namespace
}  // namespace lull
