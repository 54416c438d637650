// SPDX-License-Identifier: Apache-2.0
// A trainer that shares its bubbles, and a worker of another process that works in them.
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/report/bubble_writers.hpp>
#include <lull/tests/host/attach/attached_process.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::attached;
using test::attached_job;
using test::attached_options;
using test::process_of;
using test::sharing_trainer;

TEST_F(attached, a_job_of_another_process_runs_to_its_end) {
  pid_t const child = process_of([&] { return attached_job(address()); });
  sharing_trainer trainer{address()};
  EXPECT_EQ(train_until_over(trainer, child), 0);
  EXPECT_NE(trainer.opened(), 0U);
  EXPECT_EQ(trainer.side().counts()[counted::launches], 0U);
  EXPECT_TRUE(trainer.is_exact());
  std::vector<worker_summary> workers;
  await_that([&] {
    workers = trainer.side().summary().workers();
    return workers.size() == 1 && !workers.front().attached;
  });
  EXPECT_EQ(workers.front().process, child);
  EXPECT_EQ(workers.front().items, 5'005U);
  EXPECT_NE(workers.front().bubbles, 0U);
  std::string const text = bubble_text(trainer.side().summary());
  EXPECT_NE(text.find("Process " + std::to_string(child) + " (host_attach_test, has gone) worked in"),
            std::string::npos)
      << text;
}

TEST_F(attached, two_processes_take_turns) {
  pid_t const one = process_of([&] { return attached_job(address()); });
  pid_t const other = process_of([&] { return attached_job(address()); });
  sharing_trainer trainer{address()};
  EXPECT_EQ(train_until_over(trainer, one), 0);
  EXPECT_EQ(train_until_over(trainer, other), 0);
}

TEST_F(attached, a_bubble_in_which_the_trainers_host_stays_is_used_before_its_close) {
  pid_t const child = process_of([&] { return attached_job(address()); });
  sharing_trainer trainer{address()};
  await_that([&] { return trainer.side().ready(&trainer.stream); });
  int status = -1;
  {
    bubble const idle{trainer.side(), &trainer.stream, site{"data"}};
    await_that([&] { return ::waitpid(child, &status, WNOHANG) == child; });
  }
  EXPECT_EQ(status, 0);
  EXPECT_EQ(trainer.opened(), 1U);
}

TEST_F(attached, the_trainers_own_jobs_go_first_unless_the_workers_have_a_higher_priority) {
  pid_t const child = process_of([&] { return attached_job(address(), 1); });
  sharing_trainer trainer{address()};
  probe_arrays arrays = test::slow_arrays();
  probe_task endless = arrays.task();
  endless.polls = ~std::uint32_t{0};
  job own = trainer.side().submit(endless, "own");
  // The own job never ends, so that the other ends only if it goes before it.
  EXPECT_EQ(train_until_over(trainer, child), 0);
  await_that([&] {
    trainer.step();
    return trainer.side().counts()[counted::launches] != 0;
  });
  own.cancel();
  await_that([&] { return own.wait(0ns); });
}

TEST_F(attached, a_worker_waits_for_the_trainers_own_jobs_of_its_priority) {
  pid_t const child = process_of([&] { return attached_job(address()); });
  sharing_trainer trainer{address()};
  probe_arrays arrays = test::slow_arrays();
  job const own = trainer.side().submit(test::slow_task(arrays), "own");
  await_that([&] {
    trainer.step();
    return own.wait(0ns);
  });
  EXPECT_EQ(arrays.wrong(), nullptr);
  EXPECT_EQ(train_until_over(trainer, child), 0);
}

TEST_F(attached, the_bound_on_slowdown_is_the_trainers_and_holds_for_workers) {
  runtime_options bounded;
  bounded.max_slowdown = 0.5;
  pid_t const child = process_of([&] { return attached_job(address()); });
  sharing_trainer trainer{address(), bounded};
  await_that([&] { return trainer.side().ready(&trainer.stream); });
  // Under a bound nothing runs before the first mark.
  EXPECT_EQ(trainer.step(), counted::withheld);
  int status = 0;
  std::uint64_t withheld = 0;
  await_that([&] {
    trainer.side().step(&trainer.stream);
    withheld += trainer.step() == counted::withheld ? 1 : 0;
    return ::waitpid(child, &status, WNOHANG) == child;
  });
  EXPECT_EQ(status, 0);
  EXPECT_NE(withheld, 0U) << "no step without side work: nothing is known of its cost";
}

TEST_F(attached, a_worker_may_pause_and_go_on) {
  pid_t const child = process_of([&] {
    runtime side{attached_options(address())};
    probe_arrays arrays = test::slow_arrays();
    job const task = side.submit(test::slow_task(arrays), "paused");
    for (int i = 0; i < 5; ++i) {
      if (!side.pause_all(long_enough)) return 3;
      side.resume_all();
    }
    return task.wait(long_enough) && arrays.wrong() == nullptr ? 0 : 1;
  });
  sharing_trainer trainer{address()};
  EXPECT_EQ(train_until_over(trainer, child), 0);
}

TEST_F(attached, an_attached_program_opens_no_bubbles_and_may_leave_at_once) {
  pid_t const child = process_of([&] {
    threads_stream own;
    runtime side{attached_options(address())};
    if (side.open(&own, site{"own"}).what != counted::off) return 1;
    side.step(&own);
    return side.wait_all(1s) ? 0 : 2;
  });
  sharing_trainer trainer{address()};
  EXPECT_EQ(train_until_over(trainer, child), 0);
  EXPECT_EQ(trainer.step(), counted::no_job);
}

TEST_F(attached, a_worker_is_the_first_to_go_and_the_last_to_get_a_cpu) {
  pid_t const child = process_of([&] {
    runtime const side{attached_options(address())};
    int badness = 0;
    std::ifstream{"/proc/self/oom_score_adj"} >> badness;
    return badness == 1'000 && ::getpriority(PRIO_PROCESS, 0) >= 10 ? 0 : 1;
  });
  sharing_trainer trainer{address()};
  EXPECT_EQ(train_until_over(trainer, child), 0);
}

TEST_F(attached, a_trainer_without_workers_enqueues_nothing) {
  sharing_trainer trainer{address()};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(trainer.step(0ns), counted::no_job);
  EXPECT_EQ(trainer.opened(), 0U);
}

TEST_F(attached, more_sites_than_have_names_are_left_alone) {
  pid_t const child = process_of([&] { return attached_job(address()); });
  sharing_trainer trainer{address()};
  await_that([&] { return trainer.side().ready(&trainer.stream); });
  EXPECT_EQ(trainer.step(0ns), counted::opened);
  std::string const long_name(200, 'x');
  EXPECT_EQ(trainer.step(0ns, long_name.c_str()), counted::no_job);
  auto const step_at = [&](std::string const& where) {
    counted what = counted::off;
    await_that([&] { return (what = trainer.step(0ns, where.c_str())) != counted::records_unread; });
    return what;
  };
  for (int i = 0; i < 255; ++i) EXPECT_EQ(step_at(std::to_string(i)), counted::opened);
  EXPECT_EQ(step_at("one more"), counted::no_job);
  EXPECT_EQ(train_until_over(trainer, child), 0) << "sites that have names are used";
}

TEST_F(attached, a_trainer_that_observes_or_is_off_shares_nothing) {
  for (runtime_mode const mode : {runtime_mode::observe, runtime_mode::off}) {
    runtime_options options;
    options.mode = mode;
    sharing_trainer trainer{address(), options};
    EXPECT_FALSE(std::filesystem::exists(socket()));
    trainer.step();
  }
}

TEST_F(attached, options_that_contradict_each_other_are_refused) {
  auto const message = [&](auto change) {
    runtime_options options = attached_options(address());
    change(options);
    return message_of<usage_error>([&] { runtime const side{options}; });
  };
  EXPECT_NE(message([&](runtime_options& o) { o.share = o.attach; }).find("exclude each other"), std::string::npos);
  EXPECT_NE(message([](runtime_options& o) { o.max_slowdown = 0.01; }).find("the trainer's"), std::string::npos);
  EXPECT_NE(message([](runtime_options& o) { o.attach = "/run/x"; }).find("it must be unix:PATH"), std::string::npos);
  EXPECT_NE(message([](runtime_options& o) { o.attach = "unix:"; }).find("it must be unix:PATH"), std::string::npos);
}

}  // namespace
}  // namespace lull
