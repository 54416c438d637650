// SPDX-License-Identifier: Apache-2.0
// Errors, calls that are one too many, jobs without input, and other programs' ways with the socket.
#include <sys/time.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/attach/attachment.hpp>
#include <lull/host/error.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/tests/host/attach/attached_process.hpp>
#include <lull/tests/support/fed_probe.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using attach::attachment;
using test::attached_job;
using test::attached_options;
using test::process_of;
using test::sharing_trainer;

/// A machine whose closing edges fail from some moment on.
class failing_executor final : public threads_executor {
 public:
  explicit failing_executor(std::atomic<bool> const& fails)
      : threads_executor(executor_options{.kind = executor_kind::threads, .processors = 2}), fails_(fails) {}
  void close_edge(stream_handle stream, gate_ref gate, std::uint32_t value, bubble_mark& mark, bool timed,
                  closing how) override {
    if (fails_) throw device_error{1, "broken", "close_edge", "failing"};
    threads_executor::close_edge(stream, gate, value, mark, timed, how);
  }

 private:
  std::atomic<bool> const& fails_;
};

class attached_misuse : public test::attached {
 protected:
  /// Trains until it is killed.
  pid_t trainer_process() {
    return process_of([&] {
      sharing_trainer trainer{address()};
      for (;;) trainer.step();
      return 0;
    });
  }
  /// A worker that tells when it works, and when its trainer has ended.
  pid_t telling_worker(std::function<void(runtime&)> const& when_lost = {}) {
    return process_of([&] {
      test::log_lines lines;
      runtime_options options = attached_options(address());
      options.log = lines.function();
      runtime side{options};
      probe_arrays arrays{{20'000, 5, 20'000}};
      job const task = side.submit(test::slow_task(arrays), "told");
      await_that([&] { return side.counts()[counted::launches] != 0; });
      works_.write(true);
      await_that([&] {
        auto const all = lines.now();
        return std::any_of(all.begin(), all.end(),
                           [](std::string const& line) { return line.find("has ended") != std::string::npos; });
      });
      if (when_lost) when_lost(side);
      lost_.write(true);
      return task.wait(long_enough) && arrays.wrong() == nullptr ? 0 : 1;
    });
  }
  test::value_pipe works_;
  test::value_pipe lost_;
};

TEST_F(attached_misuse, a_trainer_that_an_error_turns_off_has_ended_for_its_workers) {
  pid_t const worker = telling_worker();
  std::atomic<bool> fails{false};
  {
    threads_stream stream;
    runtime_options options;
    options.share = address();
    runtime side{std::make_unique<failing_executor>(fails), options};
    await_that([&] {
      bubble const idle{side, &stream, site{"wait"}};
      stream.enqueue([] { std::this_thread::sleep_for(300us); });
      return side.ready(&stream) && idle.what() == counted::opened;
    });
    EXPECT_TRUE(works_.read<bool>());
    fails = true;
    await_that([&] {
      bubble const idle{side, &stream, site{"wait"}};
      return side.mode() == runtime_mode::off;
    });
    EXPECT_TRUE(lost_.read<bool>());
    stream.synchronize();
  }
  sharing_trainer next{address()};
  EXPECT_EQ(train_until_over(next, worker), 0);
}

TEST_F(attached_misuse, a_next_trainer_that_does_not_answer_is_tried_again) {
  pid_t const worker = telling_worker();
  pid_t const first = trainer_process();
  EXPECT_TRUE(works_.read<bool>());
  test::kill_child(first);
  EXPECT_TRUE(lost_.read<bool>());
  {
    attach::listening_socket stopped{socket()};
    std::this_thread::sleep_for(1'500ms);
  }
  sharing_trainer next{address()};
  EXPECT_EQ(train_until_over(next, worker), 0);
}

TEST_F(attached_misuse, one_resume_too_many_does_not_fill_the_places_of_a_worker_without_a_trainer) {
  pid_t const worker = telling_worker([](runtime& side) { side.resume_all(); });
  pid_t const first = trainer_process();
  EXPECT_TRUE(works_.read<bool>());
  test::kill_child(first);
  EXPECT_TRUE(lost_.read<bool>());
  std::this_thread::sleep_for(100ms);
  sharing_trainer next{address()};
  EXPECT_EQ(train_until_over(next, worker), 0);
}

TEST_F(attached_misuse, one_resume_too_many_does_not_take_a_workers_turn) {
  pid_t const worker = process_of([&] { return attached_job(address(), 1); });
  sharing_trainer trainer{address()};
  probe_arrays arrays = test::slow_arrays();
  probe_task endless = arrays.task();
  endless.polls = ~std::uint32_t{0};
  job own = trainer.side().submit(endless, "own");
  await_that([&] { return trainer.step() == counted::opened && own.progress().state == job_state::queued; });
  trainer.side().resume_all();
  EXPECT_EQ(train_until_over(trainer, worker), 0);
  own.cancel();
}

TEST_F(attached_misuse, a_program_that_pauses_gives_workers_no_bubble) {
  pid_t const worker = process_of([&] { return attached_job(address()); });
  sharing_trainer trainer{address()};
  await_that([&] { return trainer.step() == counted::opened; });
  ASSERT_TRUE(trainer.side().pause_all(long_enough));
  await_that([&] { return trainer.step() == counted::no_job; });  // the dispatcher takes the turn back
  for (int i = 0; i < 50; ++i) EXPECT_EQ(trainer.step(), counted::no_job);
  trainer.side().resume_all();
  EXPECT_EQ(train_until_over(trainer, worker), 0);
}

TEST_F(attached_misuse, a_workers_job_without_input_leaves_bubbles_to_others) {
  pid_t const hungry = process_of([&] {
    runtime side{attached_options(address())};
    std::vector<std::uint64_t> input(24), results(12);
    job_description what = describe(fed_probe{input.data(), results.data(), 5, false}, "hungry");
    what.priority = 1;
    job const task = side.submit(what);
    works_.write(true);
    ::pause();
    return 0;
  });
  sharing_trainer trainer{address()};
  EXPECT_TRUE(works_.read<bool>());
  await_that([&] { return trainer.side().ready(&trainer.stream); });
  probe_arrays arrays = test::slow_arrays();
  job const own = trainer.side().submit(test::slow_task(arrays), "own");
  await_that([&] {
    trainer.step();
    return own.wait(0ns);
  });
  EXPECT_EQ(arrays.wrong(), nullptr);
  test::kill_child(hungry);
}

TEST_F(attached_misuse, the_trainers_own_job_without_input_leaves_bubbles_to_others) {
  pid_t const worker = process_of([&] { return attached_job(address()); });
  sharing_trainer trainer{address()};
  std::vector<std::uint64_t> input(24), results(12);
  job own = trainer.side().submit(fed_probe{input.data(), results.data(), 5, false}, "hungry");
  EXPECT_EQ(train_until_over(trainer, worker), 0);
  own.cancel();
}

TEST_F(attached_misuse, a_close_in_an_attached_program_is_counted) {
  pid_t const worker = process_of([&] {
    threads_stream own;
    runtime side{attached_options(address())};
    probe_arrays arrays = test::slow_arrays();
    job const task = side.submit(test::slow_task(arrays), "job");
    for (std::uint64_t bubble = 1; bubble < 100; ++bubble) side.close({0, bubble}, &own);
    if (side.counts()[counted::unmatched] != 99 || side.ready(&own)) return 1;
    return task.wait(long_enough) ? 0 : 2;
  });
  sharing_trainer trainer{address()};
  EXPECT_EQ(train_until_over(trainer, worker), 0);
}

TEST_F(attached_misuse, two_runtimes_of_one_process_are_two_workers) {
  pid_t const child = process_of([&] {
    runtime one{attached_options(address())};
    runtime other{attached_options(address())};
    probe_arrays first = test::slow_arrays();
    probe_arrays second = test::slow_arrays();
    job const jobs[] = {one.submit(test::slow_task(first), "one"), other.submit(test::slow_task(second), "other")};
    for (job const& each : jobs)
      if (!each.wait(long_enough)) return 1;
    return first.wrong() == nullptr && second.wrong() == nullptr ? 0 : 2;
  });
  sharing_trainer trainer{address()};
  EXPECT_EQ(train_until_over(trainer, child), 0);
}

TEST_F(attached_misuse, a_trainer_does_not_attach_to_itself) {
  sharing_trainer trainer{address()};
  std::string const why = message_of<usage_error>([&] { runtime const refused{attached_options(address())}; });
  EXPECT_NE(why.find("submit jobs to the runtime that does"), std::string::npos) << why;
  trainer.step();
  EXPECT_TRUE(trainer.is_exact());
}

TEST_F(attached_misuse, a_message_of_another_version_may_have_any_size) {
  sharing_trainer trainer{address()};
  auto other = attach::connect_to(socket());
  ASSERT_TRUE(other);
  struct longer {
    attach::introduction begins;
    char more[16] = {};
  } said;
  said.begins.from.number = attach::protocol + 1;
  said.begins.from.version = attach::short_text<52>{"9.8.7"};
  ASSERT_TRUE(other->send(said));
  attach::answer reply;
  await_that([&] { return other->receive_greeted(reply) == attach::connection::outcome::received; });
  EXPECT_EQ(reply.what, attach::answer::other_version);
}

TEST_F(attached_misuse, signals_do_not_end_the_wait_for_a_trainers_answer) {
  attach::listening_socket trainer{socket()};
  std::thread answers{[&] {
    std::optional<attach::connection> worker;
    std::optional<uid_t> refused;
    await_that([&] { return (worker = trainer.accept(refused)).has_value(); });
    std::this_thread::sleep_for(200ms);
    attach::owned_page const page;
    worker->send(attach::answer{}, page.descriptor_of());
    std::this_thread::sleep_for(100ms);
  }};
  struct sigaction action {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  itimerval const often{{0, 20'000}, {0, 20'000}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  EXPECT_NE(attachment::to(socket(), {.name = "test"}), nullptr);
  itimerval const never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  answers.join();
}

}  // namespace
}  // namespace lull
