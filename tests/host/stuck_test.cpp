// SPDX-License-Identifier: Apache-2.0
// A driver call that does not return delays only the thread that makes it. Each call to the machine is stuck in turn;
// every public call that does not make it returns while it is still stuck, or by its own deadline.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/host/stalling_executor.hpp>
#include <lull/tests/support/threads_job.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto limit = 60s;
constexpr auto deadline = 20ms;  // of calls that have one

/// Waits for input that never comes.
struct hungry_task {
  static constexpr team_shape shape{.threads = 32};
  std::uint64_t extent(position, std::uint64_t) const noexcept { return starved; }
  void operator()(chunk, auto const&) const noexcept {}
};
static_assert(side_task<hungry_task>);

struct stuck_call {
  char const* name;
  runtime_mode mode = runtime_mode::on;
};
void PrintTo(stuck_call const& call, std::ostream* out) { *out << call.name; }

/// A trainer with two streams, one of them captured now and then, and jobs that come, go, and lose their memory.
class stuck : public testing::TestWithParam<stuck_call> {
 protected:
  void SetUp() override {
    runtime_options options;
    options.mode = GetParam().mode;
    options.max_slowdown = 0.5;
    options.saved_bytes = std::size_t{16} << 20;
    options.executor = machine_options();
    side_ = std::make_unique<runtime>(std::make_unique<stalling_executor>(stall_, machine_options()), options);
    if (GetParam().mode == runtime_mode::on) watched_ = side_->submit(description("watched"));
  }
  void TearDown() override {
    stall_.let_go();
    stops_ = true;
    for (auto& each : busy_) each.join();
    side_.reset();
  }

  static executor_options machine_options() {
    return {.kind = executor_kind::threads,
            .memory_limit_bytes = std::size_t{256} << 20,
            .reserve_bytes = 1 << 20,
            .processors = 1};
  }

  /// A job that starves, with memory that can go.
  job_description description(std::string name) {
    job_description made = test::threads_job(hungry_task{});
    made.name = std::move(name);
    made.memory = std::make_shared<job_memory>();
    job_memory::scope const its{made.memory};
    made.keeps = std::make_shared<device_array<char>>(side_->memory(), std::size_t{1} << 20);
    return made;
  }

  /// Makes all kinds of calls to the machine, on separate threads, until one is stuck.
  void keep_busy() {
    busy_.emplace_back([this] {
      for (std::uint64_t step = 0; !stops_; ++step) {
        bubble_id const idle = side_->open(&busy_stream_, site{"recv"});
        busy_stream_.enqueue([] { std::this_thread::sleep_for(1ms); });  // worth a worker
        side_->close(idle, &busy_stream_);
        side_->step(&busy_stream_);
        busy_stream_.synchronize();
        if (step % 16 == 0) capture_one();
      }
    });
    busy_.emplace_back([this] {
      for (int n = 0; !stops_; ++n) {
        if (GetParam().mode != runtime_mode::on) return;
        job more = side_->submit(description("more"));
        watched_.feed(static_cast<std::uint64_t>(n));
        side_->memory().give_back(1, 5ms);
        more.cancel();
        while (!more.wait(1ms) && !stops_) {
        }
      }
    });
  }
  void capture_one() {
    busy_stream_.begin_capture();
    side_->close(side_->open(&busy_stream_, site{"captured"}), &busy_stream_);
    threads_graph const graph = busy_stream_.end_capture();
    busy_stream_.launch(graph);
    busy_stream_.synchronize();
  }

  std::map<std::string, std::function<void()>> public_calls() {
    std::map<std::string, std::function<void()>> all{
        {"open and close", [this] { side_->close(side_->open(&other_stream_, site{"other"}), &other_stream_); }},
        {"skip_step", [this] { side_->skip_step(); }},
        {"bound_slowdown", [this] { side_->steps().bound_slowdown(0.25); }},
        {"assume_slowdown", [this] { side_->steps().assume_slowdown("watched", 0.01); }},
        {"slowdown_of", [this] { side_->steps().slowdown_of("watched"); }},
        {"steps", [this] { side_->steps().report(); }},
        {"pause_all",
         [this] {
           if (side_->pause_all(deadline)) side_->resume_all();
         }},
        {"give_back", [this] { side_->memory().give_back(1 << 20, deadline); }},
        {"keep_reserve", [this] { side_->memory().keep_reserve(deadline); }},
        {"wait_all", [this] { side_->wait_all(deadline); }},
        {"ready", [this] { side_->ready(&other_stream_); }},
        {"counts", [this] { side_->counts(); }},
        {"summary", [this] { side_->summary(); }},
        {"take_bubbles", [this] { side_->take_bubbles(); }},
        {"mode", [this] { side_->mode(); }},
    };
    // A trainer's steps come one after another, so the next mark waits for one that is being made.
    if (std::string{GetParam().name} != "note" && std::string{GetParam().name} != "make_moment" &&
        std::string{GetParam().name} != "write_word")
      all["step"] = [this] { side_->step(&other_stream_); };
    if (!watched_) return all;
    all["progress"] = [this] { watched_.progress(); };
    all["pause"] = [this] { watched_.pause(); };
    all["resume"] = [this] { watched_.resume(); };
    all["hold"] = [this] {
      if (watched_.hold(deadline)) watched_.let_go();
    };
    all["rounds"] = [this] { watched_.rounds(); };
    all["feed"] = [this] { watched_.feed(1); };
    all["fed"] = [this] { watched_.fed(); };
    all["wait"] = [this] { static_cast<void>(watched_.wait(deadline)); };
    return all;
  }

  stall stall_;
  threads_stream busy_stream_;
  threads_stream other_stream_;
  std::unique_ptr<runtime> side_;
  job watched_;
  std::atomic<bool> stops_{false};
  std::vector<std::thread> busy_;
};

TEST_P(stuck, keeps_up_nobody_else) {
  stall_.set(GetParam().name);
  keep_busy();
  ASSERT_TRUE(stall_.hangs(limit)) << "nothing makes this call";
  for (auto const& [name, call] : public_calls()) {
    std::packaged_task<void()> task{call};
    std::future<void> const done = task.get_future();
    std::thread caller{std::move(task)};
    bool const returned = done.wait_for(limit / 6) == std::future_status::ready;
    EXPECT_TRUE(returned) << name << " waits";
    if (!returned) stall_.let_go();  // so that the test ends
    caller.join();
    if (!returned) return;
  }
  EXPECT_TRUE(stall_.hangs(0ns)) << "the call has returned meanwhile, so nothing was tried";
}

/// The dispatcher has chosen a job and writes its words: that place is not empty, though no job is in it yet.
TEST(pause_all, is_not_over_while_a_job_is_being_put_into_a_place) {
  stall stuck;
  runtime side{std::make_unique<stalling_executor>(stuck, executor_options{.kind = executor_kind::threads}), {}};
  stuck.set("copy_in");
  job const task = side.submit(test::threads_job(hungry_task{}));
  ASSERT_TRUE(stuck.hangs(limit));
  EXPECT_FALSE(side.pause_all(deadline));
  stuck.let_go();
  EXPECT_TRUE(side.pause_all(limit));
  side.resume_all();
}

std::string name_of_test(testing::TestParamInfo<stuck_call> const& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(on, stuck, testing::ValuesIn(calls_that_stall<stuck_call>()), name_of_test);
INSTANTIATE_TEST_SUITE_P(observe, stuck,
                         testing::ValuesIn(observed_calls_that_stall<stuck_call>(runtime_mode::observe)), name_of_test);

}  // namespace
}  // namespace lull
