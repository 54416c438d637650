// SPDX-License-Identifier: Apache-2.0
// Lines of the log: no thread waits for the program's callback, no line is given out after the end, and lost lines are
// counted.
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/detail/log_queue.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto limit = 60s;

/// A callback that waits until it is let go, and what it was given.
class slow_log {
 public:
  log_function function() {
    return [this](std::string_view line) {
      {
        std::lock_guard const lock{mutex_};
        lines_.emplace_back(line);
      }
      if (!first_.exchange(true)) began_.set_value();
      released_.wait_for(limit);
    };
  }
  bool has_begun() { return begun_.wait_for(limit) == std::future_status::ready; }
  void let_go() { let_go_.set_value(); }
  std::vector<std::string> lines() {
    std::lock_guard const lock{mutex_};
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::atomic<bool> first_{false};
  std::promise<void> began_;
  std::future<void> begun_ = began_.get_future();
  std::promise<void> let_go_;
  std::shared_future<void> released_ = let_go_.get_future().share();
};

TEST(log_queue, gives_lines_out_in_order_on_another_thread) {
  std::vector<std::string> lines;
  std::vector<std::thread::id> threads;
  {
    log_queue log{[&](std::string_view line) {
      lines.emplace_back(line);
      threads.push_back(std::this_thread::get_id());
    }};
    for (int n = 0; n < 100; ++n) log.add("line " + std::to_string(n));
  }
  ASSERT_EQ(lines.size(), 100U);
  EXPECT_EQ(lines.front(), "line 0");
  EXPECT_EQ(lines.back(), "line 99");
  for (auto const id : threads) EXPECT_NE(id, std::this_thread::get_id());
}

TEST(log_queue, does_not_wait_for_a_callback_and_tells_of_lines_that_it_dropped) {
  slow_log slow;
  log_queue log{slow.function()};
  log.add("first");
  ASSERT_TRUE(slow.has_begun());
  for (std::size_t n = 0; n < log_queue::max_lines + 7; ++n) log.add("more");
  EXPECT_EQ(log.dropped(), 7U);
  slow.let_go();
  log.close();
  std::vector<std::string> const lines = slow.lines();
  ASSERT_EQ(lines.size(), 1 + log_queue::max_lines + 1);
  EXPECT_EQ(lines[1], "7 lines of the log were dropped: the log callback was too slow");
}

TEST(log_queue, waits_at_its_end_for_the_line_that_is_being_given_out) {
  slow_log slow;
  log_queue log{slow.function()};
  log.add("first");
  ASSERT_TRUE(slow.has_begun());
  auto closes = std::async(std::launch::async, [&] { log.close(); });
  EXPECT_EQ(closes.wait_for(20ms), std::future_status::timeout);
  slow.let_go();
  EXPECT_EQ(closes.wait_for(limit), std::future_status::ready);
}

TEST(log_queue, gives_later_lines_out_at_once) {
  std::vector<std::string> lines;
  log_queue log{[&](std::string_view line) { lines.emplace_back(line); }};
  log.close();
  log.close();
  log.add("the report");
  EXPECT_EQ(lines, std::vector<std::string>{"the report"});
}

TEST(log_queue, goes_on_after_a_callback_that_throws) {
  std::atomic<int> lines{0};
  {
    log_queue log{[&](std::string_view) {
      ++lines;
      throw std::runtime_error{"broken"};
    }};
    log.add("one");
    log.add("two");
  }
  EXPECT_EQ(lines, 2);
}

TEST(log_queue, without_a_callback_keeps_nothing) {
  log_queue log{{}};
  for (int n = 0; n < 1'000; ++n) log.add("line");
  EXPECT_EQ(log.dropped(), 0U);
}

}  // namespace
}  // namespace lull::detail
