// SPDX-License-Identifier: Apache-2.0
// The whole path, on CPU threads: bubbles are observed, and the report is there when the runtime is gone.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/report/at_end.hpp>
#include <lull/host/report/bubble_writers.hpp>
#include <lull/host/report/time_text.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/host/recording_executor.hpp>
#include <lull/tests/host/report/bubbles.hpp>
#include <lull/tests/host/report/contains.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using json = nlohmann::json;

class report_at_end : public testing::Test {
 protected:
  report_at_end() {
    unsetenv("LULL");
    unsetenv("LULL_REPORT");
  }
  ~report_at_end() override {
    unsetenv("LULL");
    unsetenv("LULL_REPORT");
  }

  runtime_options options(runtime_mode mode) {
    return {.executor = {.kind = executor_kind::threads, .processors = 2},
            .mode = mode,
            .tasks = {type_of<probe_task>()},
            .log = [this](std::string_view line) {
              std::lock_guard const lock{mutex_};
              lines_.emplace_back(line);
            }};
  }

  /// Twenty bubbles at one site and ten at another; takes some of them itself.
  void train(runtime& side) {
    threads_stream trainer;
    for (int i = 0; i < 10; ++i) {
      for (char const* where : {"forward", "backward", "forward"}) {
        bubble const idle{side, &trainer, site{where}};
        trainer.enqueue([] { std::this_thread::sleep_for(100us); });
      }
      if (i == 5) side.take_bubbles();
    }
    trainer.synchronize();
  }

  void observe(runtime_options asked) {
    runtime side{std::move(asked)};
    train(side);
  }

  json read(fs::path const& name) { return json::parse(read_file(folder_ / name, 1 << 20)); }

  static void expect_all(json const& report) {
    ASSERT_EQ(report["gates"].size(), 1U);
    json const& gate = report["gates"][0];
    EXPECT_EQ(gate["bubbles"], 30);
    EXPECT_EQ(gate["unknown_length"], 0);
    EXPECT_EQ(gate["sites"][0]["site"], "forward");
    EXPECT_EQ(gate["sites"][0]["bubbles"], 20);
    EXPECT_EQ(gate["sites"][1]["site"], "backward");
    EXPECT_EQ(gate["sites"][1]["bubbles"], 10);
    EXPECT_EQ(report["time"], "cpu");
  }

  test::test_folder files_;
  std::filesystem::path const folder_ = files_.path();
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(report_at_end, the_environment_alone_observes_and_reports) {
  setenv("LULL", "observe", 1);
  setenv("LULL_REPORT", (folder_ / "of_%d.json").c_str(), 1);
  runtime_options asked = options(runtime_mode::on);
  asked.report = folder_ / "not_here.json";
  observe(asked);
  expect_all(read("of_0.json"));
  EXPECT_FALSE(fs::exists(folder_ / "not_here.json"));
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_TRUE(contains(lines_[0], "of_0.json"));
}

TEST_F(report_at_end, the_option_names_a_file_in_any_form) {
  for (std::string const ending : {"json", "trace.json", "txt"}) {
    runtime_options asked = options(runtime_mode::observe);
    asked.report = folder_ / ("bubbles." + ending);
    observe(asked);
  }
  expect_all(read("bubbles.json"));
  EXPECT_TRUE(read("bubbles.trace.json").contains("traceEvents"));
  EXPECT_TRUE(contains(read_file(folder_ / "bubbles.txt", 1 << 20), "backward"));
}

TEST_F(report_at_end, lengths_that_come_after_everything_has_passed_are_waited_for) {
  record seen;
  runtime_options asked = options(runtime_mode::observe);
  asked.report = folder_ / "bubbles.json";
  {
    runtime side{std::make_unique<recording_executor>(seen), asked};
    train(side);
    seen.lengths_not_there = 3;
  }
  expect_all(read("bubbles.json"));
}

TEST_F(report_at_end, observed_without_a_file_the_text_goes_to_the_log_line_by_line) {
  observe(options(runtime_mode::observe));
  ASSERT_GT(lines_.size(), 5U);
  EXPECT_EQ(lines_[0], cpu_time_note);
  std::string all;
  for (std::string const& line : lines_) {
    EXPECT_EQ(line.find('\n'), std::string::npos);
    all += line + "\n";
  }
  EXPECT_TRUE(contains(all, "\n  forward"));
  EXPECT_TRUE(contains(all, "\n  (all)"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(report_at_end, a_runtime_that_saw_no_bubble_says_so) {
  { runtime const side{options(runtime_mode::observe)}; }
  EXPECT_EQ(lines_, std::vector<std::string>{"No bubble was seen."});
}

TEST_F(report_at_end, after_a_harvest_a_file_is_written_and_no_text_logged) {
  for (std::string const& path : {std::string{}, (folder_ / "harvest.json").string()}) {
    probe_arrays arrays{{3000}};
    runtime_options asked = options(runtime_mode::on);
    asked.report = path;
    std::uint64_t opened = 0;
    {
      threads_stream trainer;
      runtime side{asked};
      job const task = side.submit(arrays.task(), "probe");
      for (int i = 0; i < 100'000 && task.progress().state != job_state::finished; ++i) {
        {
          bubble const idle{side, &trainer, site{"wait"}};
          trainer.enqueue([] { std::this_thread::sleep_for(500us); });
        }
        trainer.synchronize();
      }
      EXPECT_EQ(task.progress().state, job_state::finished);
      opened = side.counts()[counted::opened];
    }
    if (path.empty()) {
      EXPECT_TRUE(lines_.empty());
      continue;
    }
    json const gate = read("harvest.json")["gates"][0];
    EXPECT_EQ(gate["bubbles"].get<std::uint64_t>() + gate["unknown_length"].get<std::uint64_t>(), opened);
    EXPECT_EQ(gate["side_work"]["items"], 3000);
  }
}

TEST_F(report_at_end, off_writes_nothing_and_refuses_nothing) {
  setenv("LULL", "off", 1);
  for (char const* name : {"bubbles.json", "bubbles"}) {
    setenv("LULL_REPORT", (folder_ / name).c_str(), 1);
    observe(options(runtime_mode::observe));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_TRUE(lines_.empty());
}

TEST_F(report_at_end, a_file_that_cannot_be_is_refused_at_the_start) {
  runtime_options asked = options(runtime_mode::observe);
  asked.report = folder_ / "bubbles.csv";
  EXPECT_THROW(runtime{asked}, usage_error);
  asked.report = folder_ / "none" / "bubbles.json";
  EXPECT_THROW(runtime{asked}, usage_error);
  asked.report = folder_ / "bubbles.json";
  for (char const* name : {"bubbles", "bubbles.svg"}) {
    setenv("LULL_REPORT", name, 1);
    EXPECT_THROW(runtime{asked}, usage_error) << name;
  }
  EXPECT_EQ(lines_, std::vector<std::string>{});
}

TEST_F(report_at_end, the_file_s_name_tells_processes_and_devices_apart) {
  EXPECT_EQ(report_path("", 3), "");
  std::string const folder = folder_.string();
  EXPECT_EQ(report_path(folder + "/%d-%p-%d.txt", 3), folder + "/3-" + std::to_string(getpid()) + "-3.txt");
  EXPECT_EQ(report_path("here.txt", 0), "here.txt");
  setenv("LULL_REPORT", "", 1);
  EXPECT_EQ(report_path("here.txt", 0), "here.txt");
}

TEST_F(report_at_end, what_goes_wrong_is_logged_and_a_log_that_throws_is_survived) {
  std::string said;
  hand_over(two_gates(), folder_ / "gone" / "bubbles.json", [&](std::string_view line) { said = line; });
  EXPECT_TRUE(contains(said, "the bubble report was not written: ")) << said;
  hand_over(two_gates(), folder_ / "gone" / "bubbles.json", {});
  hand_over(two_gates(), "", {});
  hand_over(two_gates(), "", [](std::string_view) { throw std::runtime_error{"no"}; });
}

}  // namespace
}  // namespace lull
