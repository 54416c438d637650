// SPDX-License-Identifier: Apache-2.0
// Jobs in bubbles that a separate thread saves, stopped and resumed.
#include <lull/host/task/hosted_job.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/solo/checkpoints.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto* long_task = "mlp:hidden=24,epochs=3,batch=50";

class saved_in_bubbles : public testing::Test {
 protected:
  /// One run of a process: a runtime, and a job that resumes from what is there.
  class life {
   public:
    life(fs::path const& folder, std::string const& task, std::chrono::nanoseconds every)
        : request_(parse_task(task, known_tasks())),
          side_{{.executor = {.kind = executor_kind::threads, .processors = 2}}},
          owner_(entry_of(request_).make(request_.values)) {
      owner_->prepare(executor_of(side_));
      auto saves =
          std::make_shared<checkpoints>(folder, every, true, request_.name, request_, *owner_, executor_of(side_));
      hosted_ = std::make_unique<hosted_job>(
          executor_of(side_), hosted_task{owner_->describe(), owner_, std::move(saves)}, [this](auto line) {
            std::lock_guard const lock{mutex_};
            log_.emplace_back(line);
          });
      hosted_->submit([this](job_description what) { return side_.submit(std::move(what)); });
      hosted_->save_by_thread();
    }
    ~life() {
      hosted_->cancel();
      EXPECT_TRUE(hosted_->wait(10s));
    }

    /// Runs bubbles until `so`, or until the job is over; returns its progress.
    job_progress run_until(std::function<bool(job_progress const&)> const& so) {
      while (!hosted_->over() && !so(hosted_->progress())) {
        bubble const idle{side_, &trainer_, site{"wait"}};
        trainer_.enqueue([] { std::this_thread::sleep_for(300us); });
        trainer_.synchronize();
      }
      return hosted_->progress();
    }
    job_progress run_to_its_end() {
      return run_until([](job_progress const&) { return false; });
    }
    hosted_job& hosted() { return *hosted_; }
    job_progress progress() const { return hosted_->progress(); }
    std::vector<std::string> bytes() {
      std::vector<std::string> found;
      for (task_array const& each : owner_->arrays())
        executor_of(side_).read(found.emplace_back(each.array.bytes(), '\0').data(), each.memory, each.array.bytes());
      return found;
    }
    std::vector<std::string> log() {
      std::lock_guard const lock{mutex_};
      return log_;
    }

   private:
    task_request request_;
    runtime side_;
    threads_stream trainer_;
    std::shared_ptr<task_owner> owner_;
    std::mutex mutex_;
    std::vector<std::string> log_;
    std::unique_ptr<hosted_job> hosted_;
  };

  std::vector<std::string> bytes_of_one_that_was_never_stopped() {
    life whole{files_.path() / "other", long_task, 1h};
    EXPECT_EQ(whole.run_to_its_end().state, job_state::finished);
    return whole.bytes();
  }

  /// A file may be made there meanwhile.
  void remove_folder() {
    for (std::error_code ignored; fs::exists(folder_);) fs::remove_all(folder_, ignored);
  }

  test::test_folder files_;
  fs::path const folder_ = files_.path() / "saved";
  fs::path const file_ = folder_ / "mlp.safetensors";
};

TEST_F(saved_in_bubbles, end_with_the_bytes_of_one_that_was_never_stopped) {
  std::uint64_t reached = 0;
  int lives = 0;
  std::vector<std::string> bytes;
  for (bool finished = false; !finished; ++lives) {
    ASSERT_LT(lives, 1000);
    life one{folder_, long_task, 1h};
    EXPECT_GE(one.progress().phases, reached);  // the line about them may be a phase late
    finished =
        one.run_until([&](job_progress const& now) { return now.phases >= reached + 40; }).state == job_state::finished;
    if (finished) bytes = one.bytes();
    // At its end the pause reaches more than was seen before.
    one.hosted().pause();
    one.run_until([](job_progress const& now) { return now.state == job_state::paused; });
    reached = one.progress().phases;
  }
  EXPECT_GT(lives, 3);
  EXPECT_EQ(bytes, bytes_of_one_that_was_never_stopped());
}

TEST_F(saved_in_bubbles, are_saved_while_they_run) {
  life one{folder_, long_task, 1ns};
  EXPECT_NE(one.run_until([&](job_progress const&) { return fs::exists(file_); }).state, job_state::finished);
  EXPECT_EQ(one.run_to_its_end().state, job_state::finished);
  EXPECT_EQ(one.bytes(), bytes_of_one_that_was_never_stopped());
  one.hosted().result();
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_TRUE(one.log().empty());
}

TEST_F(saved_in_bubbles, have_the_notes_on_their_inputs_after_their_results) {
  life one{folder_, "sssp:grid=4", 1h};
  EXPECT_EQ(one.run_to_its_end().state, job_state::finished);
  std::string const& lines = one.hosted().result();
  EXPECT_TRUE(lines.starts_with("from vertex 0: ")) << lines;
  EXPECT_TRUE(lines.ends_with("\nno weights: drawn, whole numbers from 1 to 255 (weight_seed=1)\n")) << lines;
}

TEST_F(saved_in_bubbles, that_have_finished_are_not_done_again) {
  {
    life first{folder_, long_task, 1h};
    first.run_to_its_end();
  }
  life again{folder_, long_task, 1h};
  std::uint64_t const phases = again.progress().phases;
  EXPECT_EQ(again.run_to_its_end().state, job_state::finished);
  EXPECT_EQ(again.progress().phases, phases);
  EXPECT_EQ(again.bytes(), bytes_of_one_that_was_never_stopped());
}

TEST_F(saved_in_bubbles, stay_paused_where_their_owner_says_so_and_are_saved_once_then) {
  life one{folder_, long_task, 1ns};
  one.run_until([](job_progress const& now) { return now.phases > 20; });
  one.hosted().pause();
  one.run_until([](job_progress const& now) { return now.state == job_state::paused; });
  auto written = fs::file_time_type::min();
  auto const still = [&] { return fs::exists(file_) && written == std::exchange(written, fs::last_write_time(file_)); };
  for (int looks = 0; !still(); ++looks) {
    ASSERT_LT(looks, 100) << "written again and again";
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(one.progress().state, job_state::paused);
  one.hosted().resume();
  EXPECT_EQ(one.run_to_its_end().state, job_state::finished);
}

TEST_F(saved_in_bubbles, may_be_paused_and_resumed_at_any_moment) {
  life one{folder_, long_task, 1ns};
  for (int times = 0; times < 200; ++times) {
    one.hosted().pause();
    int bubbles = 0;
    one.run_until([&](job_progress const&) { return ++bubbles > times % 3; });
    one.hosted().resume();
  }
  EXPECT_EQ(one.run_to_its_end().state, job_state::finished);
  EXPECT_EQ(one.bytes(), bytes_of_one_that_was_never_stopped());
}

TEST_F(saved_in_bubbles, are_not_resumed_before_they_are_saved) {
  life one{folder_, "streaming:items=2048,rounds=30000", 1ns};
  auto const is_saving = [&] {  // into a file beside the one that it will replace
    std::error_code ignored;
    fs::directory_iterator const files{folder_, ignored};
    return std::any_of(begin(files), end(files), [&](auto const& each) { return each.path().extension() == ".tmp"; });
  };
  std::atomic<bool> over = false;
  auto bubbles =
      std::async(std::launch::async, [&] { one.run_until([&](job_progress const&) { return over.load(); }); });
  int seen = 0;
  for (auto const give_up = std::chrono::steady_clock::now() + 100s; seen < 3;) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up);
    if (!is_saving()) continue;
    one.hosted().pause();
    one.hosted().resume();
    for (bool first = true; is_saving(); first = false) {
      job_state const state = one.progress().state;
      if (!is_saving()) break;
      EXPECT_EQ(state, job_state::paused);
      if (first) ++seen;
    }
  }
  over = true;
  bubbles.get();
}

TEST_F(saved_in_bubbles, are_not_written_again_where_nothing_was_done) {
  life one{folder_, long_task, 1ns};
  one.run_until([&](job_progress const& now) { return fs::exists(file_) && now.phases > 20; });
  auto const written = [&] { return fs::last_write_time(file_); };
  auto last = written();
  int alike = 0;
  for (int looks = 0; alike < 5; ++looks) {  // no bubble comes meanwhile
    ASSERT_LT(looks, 100);
    std::this_thread::sleep_for(50ms);
    alike = last == written() ? alike + 1 : 0;
    last = written();
  }
}

TEST_F(saved_in_bubbles, are_saved_at_their_end_alone_where_the_period_has_no_end) {
  fs::path const file = folder_ / "streaming.safetensors";
  {
    life one{folder_, "streaming:items=64,rounds=30000", std::chrono::nanoseconds::max()};
    for (auto const until = std::chrono::steady_clock::now() + 200ms; std::chrono::steady_clock::now() < until;) {
      std::uint64_t const before = one.progress().phases;
      one.run_until([&](job_progress const& now) { return now.phases > before; });
      ASSERT_FALSE(fs::exists(file));
    }
  }
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(saved_in_bubbles, are_saved_again_where_that_failed_for_a_while) {
  life one{folder_, "streaming:items=64,rounds=30000", 1ns};
  fs::path const file = folder_ / "streaming.safetensors";
  one.run_until([&](job_progress const&) { return fs::exists(file); });
  remove_folder();
  one.run_until([&](job_progress const&) { return !one.log().empty(); });
  fs::create_directory(folder_);
  one.run_until([&](job_progress const&) { return fs::exists(file); });
  EXPECT_NE(one.progress().state, job_state::finished);
  ASSERT_EQ(one.log().size(), 1U);
  EXPECT_TRUE(one.log()[0].starts_with("job 'streaming' is not saved, which is tried again: ")) << one.log()[0];
}

TEST_F(saved_in_bubbles, go_on_where_they_can_no_longer_be_saved) {
  life one{folder_, long_task, 1ns};
  one.run_until([&](job_progress const&) { return fs::exists(file_); });
  remove_folder();
  EXPECT_EQ(one.run_to_its_end().state, job_state::finished);
  one.hosted().result();  // until then it may still try
  ASSERT_GE(one.log().size(), 1U);
  EXPECT_TRUE(one.log().back().starts_with("job 'mlp' is not saved at its end: ")) << one.log().back();
}

TEST_F(saved_in_bubbles, of_another_task_are_refused_and_kept) {
  { life const other{folder_, "mlp:hidden=24,epochs=4,batch=50", 1h}; }
  std::string const before = read_file(file_, 1 << 24);
  EXPECT_THROW((life{folder_, long_task, 1h}), input_error);
  EXPECT_EQ(read_file(file_, 1 << 24), before);
}

}  // namespace
}  // namespace lull
