// SPDX-License-Identifier: Apache-2.0
// Either side may die, or stop, at any instant.
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tests/host/attach/attached_process.hpp>
#include <lull/tests/support/effort.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::attached;
using test::attached_job;
using test::attached_options;
using test::process_of;
using test::sharing_trainer;

class attached_ends : public attached {
 protected:
  /// A trainer in another process. Each byte from the pipe asks how many bubbles it has opened; it exits when told to.
  pid_t trainer_process() {
    return process_of([&] {
      sharing_trainer trainer{address()};
      while (!stops_.is_there()) trainer.step();
      return trainer.is_exact() ? 0 : 1;
    });
  }
  /// A job that does not end. `works_` is there once it has worked.
  pid_t endless_worker() {
    return process_of([&] {
      runtime side{attached_options(address())};
      probe_arrays arrays{{1U << 20}};
      job const task = side.submit(test::slow_task(arrays), "endless");
      await_that([&] { return side.counts()[counted::launches] != 0; });
      works_.set();
      return task.wait(long_enough) ? 0 : 1;
    });
  }

  class flag_file {
   public:
    explicit flag_file(std::string path) : path_(std::move(path)) {}
    void set() const { std::ofstream{path_} << "x"; }
    void unset() const { ::unlink(path_.c_str()); }
    bool is_there() const { return ::access(path_.c_str(), F_OK) == 0; }

   private:
    std::string const path_;
  };

  flag_file const stops_{folder_.at("stops")};
  flag_file const works_{folder_.at("works")};
  std::mt19937 random_{20'261'129};
};

TEST_F(attached_ends, a_killed_worker_leaves_the_trainer_and_the_next_worker_as_they_were) {
  pid_t const trainer = trainer_process();
  for (std::uint64_t i = 0; i < trials(200); ++i) {
    works_.unset();
    pid_t const child = endless_worker();
    await_that([&] { return works_.is_there(); });
    std::this_thread::sleep_for(std::chrono::microseconds{random_() % 5'000});
    test::kill_child(child);
  }
  pid_t const last = process_of([&] { return attached_job(address()); });
  EXPECT_EQ(test::status_of(last), 0);
  stops_.set();
  EXPECT_EQ(test::status_of(trainer), 0) << "it computed something else, or did not end";
}

TEST_F(attached_ends, in_many_bubbles_nothing_is_lost_or_done_twice_though_workers_die_at_any_instant) {
  pid_t const trainer = process_of([&] {
    sharing_trainer side{address()};
    while (side.opened() < (is_sanitized ? 4'000U : 100'000U)) side.step(std::chrono::microseconds{20});
    stops_.set();
    return side.is_exact() ? 0 : 1;
  });
  pid_t const lives = process_of([&] { return attached_job(address(), 0, probe_arrays{{4'000, 5, 4'000}}); });
  while (!stops_.is_there()) {  // one time in two after it has worked: on a busy machine others die while they attach
    works_.unset();
    bool const any_instant = random_() % 2 == 0;
    pid_t const killed = any_instant ? process_of([&] { return attached_job(address()); }) : endless_worker();
    await_that([&] { return any_instant || works_.is_there() || stops_.is_there(); });
    std::this_thread::sleep_for(std::chrono::microseconds{random_() % 60'000});
    test::kill_child(killed);
  }
  EXPECT_EQ(test::status_of(trainer, 5min), 0);
  sharing_trainer next{address()};
  EXPECT_EQ(train_until_over(next, lives), 0);
}

TEST_F(attached_ends, a_worker_goes_on_with_the_next_trainer) {
  pid_t const worker = process_of([&] { return attached_job(address(), 0, probe_arrays{{20'000, 5, 20'000}}); });
  int trainers = 0;
  for (int status = -1; trainers < 500; ++trainers) {
    pid_t const trainer = trainer_process();
    std::this_thread::sleep_for(std::chrono::microseconds{50'000 + random_() % 100'000});
    test::kill_child(trainer);
    if (::waitpid(worker, &status, WNOHANG) != worker) continue;
    EXPECT_EQ(status, 0) << "an item was lost, or ran twice, or its value is wrong";
    break;
  }
  EXPECT_GT(trainers, 3) << "the job was too short to tell";
  EXPECT_LT(trainers, 500);
}

TEST_F(attached_ends, a_trainer_that_ends_in_order_is_like_one_that_dies) {
  pid_t const worker = process_of([&] { return attached_job(address()); });
  for (int i = 0; i < 3; ++i) {
    pid_t const trainer = process_of([&] {
      sharing_trainer side{address()};
      await_that([&] { return side.step() == counted::opened; });
      return 0;
    });
    EXPECT_EQ(test::status_of(trainer), 0);
  }
  sharing_trainer last{address()};
  EXPECT_EQ(train_until_over(last, worker), 0);
}

TEST_F(attached_ends, a_trainers_forked_child_that_lives_on_does_not_hide_its_end) {
  pid_t const worker = process_of([&] { return attached_job(address()); });
  test::value_pipe loader;
  pid_t const trainer = process_of([&] {
    sharing_trainer side{address()};
    await_that([&] { return side.step() == counted::opened; });
    test::forked([&] { loader.write(::getpid()); });  // which has closed its parent's socket
    ::pause();
    return 0;
  });
  test::killed_at_end const also{loader.read<pid_t>()};
  test::kill_child(trainer);
  sharing_trainer next{address()};
  EXPECT_EQ(train_until_over(next, worker), 0);
}

TEST_F(attached_ends, a_stopped_worker_gives_its_turn_to_others_and_gets_it_back) {
  pid_t const stopped = process_of([&] { return attached_job(address()); });
  pid_t const other = process_of([&] { return attached_job(address()); });
  sharing_trainer trainer{address()};
  ::kill(stopped, SIGSTOP);
  EXPECT_EQ(train_until_over(trainer, other), 0);
  ::kill(stopped, SIGCONT);
  EXPECT_EQ(train_until_over(trainer, stopped), 0);
}

TEST_F(attached_ends, the_trainers_end_is_seen_while_its_last_bubble_stays_open) {
  test::value_pipe left;
  pid_t const worker = process_of([&] {
    runtime side{attached_options(address())};
    probe_arrays arrays{{1U << 20}};
    probe_task endless = arrays.task();
    endless.polls = ~std::uint32_t{0};
    job task = side.submit(endless, "endless");
    await_that([&] { return task.progress().state == job_state::placed; });
    await_that([&] { return task.progress().state != job_state::placed; });
    left.write(std::chrono::steady_clock::now().time_since_epoch().count());
    task.cancel();
    return task.wait(long_enough) ? 0 : 1;
  });
  pid_t const trainer = process_of([&] {
    sharing_trainer side{address()};
    await_that([&] { return side.side().ready(&side.stream); });
    side.side().open(&side.stream, site{"open"});
    left.write(std::int64_t{0});
    ::pause();
    return 0;
  });
  EXPECT_EQ(left.read<std::int64_t>(), 0);
  std::this_thread::sleep_for(10ms);
  test::kill_child(trainer);
  auto const killed = std::chrono::steady_clock::now().time_since_epoch().count();
  // The bound is far above what it takes, which a bench measures.
  EXPECT_LT(left.read<std::int64_t>() - killed, std::chrono::nanoseconds{5s}.count());
  EXPECT_EQ(test::status_of(worker), 0);
}

}  // namespace
}  // namespace lull
