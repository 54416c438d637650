// SPDX-License-Identifier: Apache-2.0
// Device memory that the trainer needs and workers of other processes hold.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/attach/handshake.hpp>
#include <lull/host/attach/share_server.hpp>
#include <lull/host/job_memory.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/tests/host/attach/attached_process.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::attached_options;
using test::process_of;
using test::sharing_trainer;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t held = 8 * mib;  // by each job
constexpr std::uint64_t small = attach::share_server::min_bytes;

class memory_of_workers : public test::attached {
 protected:
  /// A job whose memory can be moved out, if `saved` bytes of the host are there for it.
  struct large_job {
    explicit large_job(runtime& side) {
      job_description what = describe(test::slow_task(arrays), "large");
      what.memory = std::make_shared<job_memory>();
      job_memory::scope const its{what.memory};
      content = std::make_shared<device_array<unsigned char>>(side.memory(), held);
      for (std::uint64_t i = 0; i < held; ++i) content->data()[i] = byte_at(i);
      what.keeps = content;
      task = side.submit(what);
    }
    static unsigned char byte_at(std::uint64_t i) { return static_cast<unsigned char>(i * 131 >> 3); }
    bool is_whole() {
      for (std::uint64_t i = 0; i < held; ++i)
        if (content->data()[i] != byte_at(i)) return false;
      return arrays.wrong() == nullptr;
    }
    probe_arrays arrays{{10'000, 5, 10'000}};
    std::shared_ptr<device_array<unsigned char>> content;
    job task;
  };

  /// Works until its job is over.
  pid_t worker(int priority = 0, std::uint64_t saved = 4 * held) {
    return process_of([=, this] {
      runtime_options options = attached_options(address());
      options.saved_bytes = saved;
      runtime side{options};
      large_job mine{side};
      job_description waits = describe(test::slow_task(other_), "priority");
      waits.priority = priority;
      side.submit(waits);
      return mine.task.wait(test_ends) && mine.is_whole() ? 0 : 1;
    });
  }
  static std::vector<worker_summary> workers_of(sharing_trainer& trainer) { return trainer.side().summary().workers(); }
  static std::uint64_t held_by_workers(sharing_trainer& trainer) {
    std::uint64_t sum = 0;
    for (worker_summary const& each : workers_of(trainer)) sum += each.held_bytes;
    return sum;
  }
  static std::set<int> priorities(sharing_trainer& trainer) {
    std::set<int> found;
    for (worker_summary const& each : workers_of(trainer)) found.insert(each.priority);
    return found;
  }
  static void train_until_held(sharing_trainer& trainer, std::uint64_t bytes) {
    await_that([&] {
      trainer.step();
      auto const all = workers_of(trainer);
      return !all.empty() && all.front().items != 0 && held_by_workers(trainer) >= bytes;
    });
  }
  static constexpr std::chrono::seconds test_ends{60};
  probe_arrays other_{{1U << 16}};
};

TEST_F(memory_of_workers, is_freed_for_the_trainer_and_comes_back_with_its_content) {
  pid_t const child = worker();
  sharing_trainer trainer{address()};
  train_until_held(trainer, held);
  EXPECT_EQ(trainer.side().memory().give_back(held, 10s), held);
  EXPECT_LT(held_by_workers(trainer), small);
  EXPECT_EQ(train_until_over(trainer, child), 0);
  EXPECT_TRUE(trainer.is_exact());
}

TEST_F(memory_of_workers, goes_before_that_of_the_trainers_own_jobs) {
  pid_t const child = worker();
  runtime_options options;
  options.saved_bytes = 4 * held;
  sharing_trainer trainer{address(), options};
  train_until_held(trainer, held);
  large_job own{trainer.side()};
  EXPECT_EQ(trainer.side().memory().give_back(held, 10s), held);
  EXPECT_NE(own.task.progress().state, job_state::evicted);
  EXPECT_LT(held_by_workers(trainer), small);
  test::kill_child(child);
  EXPECT_EQ(trainer.side().memory().give_back(1, 10s), held) << "that of its own jobs goes then";
}

TEST_F(memory_of_workers, that_cannot_go_goes_with_its_process) {
  pid_t const child = worker(0, 0);
  sharing_trainer trainer{address()};
  train_until_held(trainer, held);
  EXPECT_EQ(trainer.side().memory().give_back(held, 10s), held);
  int const status = test::status_of(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_TRUE(has_said(trainer, "is asked to end"));
  trainer.step();
  EXPECT_TRUE(trainer.is_exact());
}

std::atomic<bool> is_asked_to_end{false};

TEST_F(memory_of_workers, goes_with_a_process_that_ends_in_order) {
  pid_t const child = process_of([&] {
    std::signal(SIGTERM, [](int) { is_asked_to_end = true; });
    {
      runtime_options options = attached_options(address());
      options.saved_bytes = 0;
      runtime side{options};
      large_job mine{side};
      await_that([] { return is_asked_to_end.load(); });
      mine.task.cancel();
      if (!mine.task.wait(long_enough)) return 8;
    }
    return 7;
  });
  sharing_trainer trainer{address()};
  train_until_held(trainer, held);
  EXPECT_EQ(trainer.side().memory().give_back(held, 60s), held);
  int const status = test::status_of(child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 7);
}

TEST_F(memory_of_workers, of_a_stopped_process_is_there_in_time) {
  pid_t const child = worker();
  sharing_trainer trainer{address()};
  train_until_held(trainer, held);
  ::kill(child, SIGSTOP);
  auto const before = std::chrono::steady_clock::now();
  EXPECT_EQ(trainer.side().memory().give_back(held, 2s), held);
  auto const took = std::chrono::steady_clock::now() - before;
  EXPECT_GE(took, 1s) << "it had half of the time";
  int const status = test::status_of(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

TEST_F(memory_of_workers, is_not_asked_of_one_that_holds_hardly_any) {
  pid_t const child = process_of([&] { return test::attached_job(address(), 0, probe_arrays{{6'000, 5, 6'000}}); });
  sharing_trainer trainer{address()};
  train_until_held(trainer, 0);
  EXPECT_EQ(trainer.side().memory().give_back(mib, 10s), 0U);
  EXPECT_EQ(train_until_over(trainer, child), 0);
}

TEST_F(memory_of_workers, is_asked_of_the_lowest_priority_first) {
  pid_t const high = worker(5);
  pid_t const low = worker(1);
  sharing_trainer trainer{address()};
  await_that(
      [&] {
        trainer.step();
        return held_by_workers(trainer) >= 2 * held && priorities(trainer) == std::set{1, 5};
      },
      test_ends);
  EXPECT_EQ(trainer.side().memory().give_back(held, 10s), held);
  for (worker_summary const& each : workers_of(trainer))
    EXPECT_EQ(each.held_bytes >= small, each.process == high) << each.priority;
  EXPECT_EQ(trainer.side().memory().give_back(1, 10s), small);
  EXPECT_LT(held_by_workers(trainer), 2 * small);
  test::kill_child(high);
  test::kill_child(low);
}

/// Says what no runtime would.
class strange_worker {
 public:
  explicit strange_worker(std::string const& path) {
    attach::introduction said;
    said.executor = static_cast<std::uint32_t>(executor_kind::threads);
    said.name = attach::short_text<60>{"strange"};
    await_that([&] { return (made_ = attach::introduce_to(path, said)).has_value(); });
  }
  void say(attach::report const& what) { made_->trainer.send(what); }
  attach::memory_wanted wanted() {
    attach::memory_wanted found;
    await_that([&] { return made_->trainer.receive(found) != attach::connection::outcome::nothing; });
    return found;
  }

 private:
  std::optional<attach::welcomed> made_;
};

TEST_F(memory_of_workers, that_was_never_there_is_not_waited_for) {
  pid_t const child = process_of([&] {
    strange_worker me{socket()};
    me.say({.held_bytes = ~std::uint64_t{0}});
    me.say({.held_bytes = ~std::uint64_t{0}, .answers = 99, .freed_bytes = ~std::uint64_t{0}});
    std::this_thread::sleep_for(test_ends);
    return 0;
  });
  sharing_trainer trainer{address()};
  await_that([&] { return held_by_workers(trainer) != 0; });
  EXPECT_EQ(trainer.side().memory().give_back(held, 500ms), held) << "what the process held is free";
  int const status = test::status_of(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

TEST_F(memory_of_workers, is_counted_once_however_much_they_claim) {
  pid_t const child = process_of([&] {
    strange_worker me{socket()};
    me.say({.held_bytes = held});
    attach::memory_wanted const first = me.wanted();
    me.say({.held_bytes = 0, .answers = first.number, .freed_bytes = ~std::uint64_t{0}});
    std::this_thread::sleep_for(test_ends);
    return 0;
  });
  sharing_trainer trainer{address()};
  await_that([&] { return held_by_workers(trainer) != 0; });
  EXPECT_EQ(trainer.side().memory().give_back(2 * held, 10s), held);
  EXPECT_EQ(trainer.side().memory().give_back(held, 10s), 0U);
  test::kill_child(child);
}

}  // namespace
}  // namespace lull
