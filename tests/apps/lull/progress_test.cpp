// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <lull/apps/lull/progress.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/error.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

std::string line(std::uint64_t done, std::uint64_t total, std::chrono::nanoseconds elapsed) {
  return progress_line("pairs", done, total, elapsed, 80);
}

TEST(progress, line_and_time_left) {
  EXPECT_EQ(line(3, 10, 6s), "pairs  3 of 10  [######--------------]  30 %, 14 s left");
  EXPECT_EQ(line(1, 10, 20s), "pairs  1 of 10  [##------------------]  10 %, 3 min left");
  EXPECT_EQ(line(1, 1000, 1min), "pairs  1 of 1000  [--------------------]  0 %, 17 h left");
  EXPECT_EQ(line(0, 10, 5s), "pairs  0 of 10  [--------------------]  0 %");
  EXPECT_EQ(line(10, 10, 5s), "pairs  10 of 10  [####################]  100 %");
  EXPECT_EQ(line(0, 0, 5s), "pairs  0 of 0  [####################]  100 %");
  EXPECT_EQ(line(11, 10, 5s), line(10, 10, 5s));
}

TEST(progress, time_left_is_reckoned_from_where_it_began) {
  EXPECT_EQ(progress_line("mlp", 8, 10, 6s, 80, 6), "mlp  8 of 10  [################----]  80 %, 6 s left");
  EXPECT_EQ(progress_line("mlp", 6, 10, 6s, 80, 6), "mlp  6 of 10  [############--------]  60 %");
}

TEST(progress, line_is_cut_to_the_terminal) {
  EXPECT_EQ(progress_line("pairs", 3, 10, 6s, 14), "pairs  3 of 10");
  EXPECT_EQ(progress_line("pairs", 1, ~0ull, std::chrono::hours{1'000'000}, 200).find(", -"), std::string::npos);
}

// What a descriptor's other end holds now.
std::string read_all(int descriptor) {
  std::array<char, 4096> buffer{};
  ssize_t const got = ::read(descriptor, buffer.data(), buffer.size());
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : "";
}

TEST(progress, nothing_is_written_where_there_is_no_terminal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
  ::setenv("TERM", "xterm", 1);
  {
    progress bar({{"pairs", 10}}, ends[1]);
    bar.update({3});
  }
  EXPECT_EQ(read_all(ends[0]), "");
  ::close(ends[0]);
  ::close(ends[1]);
}

class in_a_terminal : public testing::Test {
 protected:
  in_a_terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    if (master_ >= 0 && ::grantpt(master_) == 0 && ::unlockpt(master_) == 0) {
      slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    }
  }
  ~in_a_terminal() override {
    if (slave_ >= 0) ::close(slave_);
    if (master_ >= 0) ::close(master_);
  }
  void SetUp() override {
    if (slave_ < 0) GTEST_SKIP() << "this machine gives no pseudo-terminal";
  }

  int master_;
  int slave_ = -1;
};

TEST_F(in_a_terminal, draws_the_line_and_wipes_it_at_the_end) {
  ::setenv("TERM", "xterm", 1);
  {
    progress bar({{"pairs", 10}}, slave_);
    EXPECT_EQ(read_all(master_), "");
    bar.update({0});
    EXPECT_EQ(read_all(master_), "\r\033[Kpairs  0 of 10  [--------------------]  0 %");
  }
  EXPECT_EQ(read_all(master_), "\r\033[K");
}

TEST_F(in_a_terminal, draws_a_line_for_each_part_of_known_length_and_wipes_all) {
  ::setenv("TERM", "xterm", 1);
  {
    progress bars({{"pairs", 2}, {"images", 0}, {"mlp", 10}}, slave_);
    bars.update({1, 7, 5});
    EXPECT_EQ(
        read_all(master_),
        "\r\033[Kpairs  1 of 2  [##########----------]  50 %\r\n\r\033[Kmlp  5 of 10  [##########----------]  50 %");
    std::this_thread::sleep_for(110ms);  // it draws ten times a second
    bars.update({1, 8, 2});              // the second started again
    EXPECT_EQ(read_all(master_),
              "\033[1A\r\033[Kpairs  1 of 2  [##########----------]  50 %\r\n\r\033[Kmlp  2 of 10  "
              "[####----------------]  20 %");
    std::this_thread::sleep_for(110ms);
    bars.update({1, 8, 3});
    EXPECT_NE(read_all(master_).find("30 %, "),
              std::string::npos);  // with the time that is left, reckoned from its new beginning
  }
  EXPECT_EQ(read_all(master_), "\033[1A\r\033[K\r\n\r\033[K\033[1A");
}

TEST_F(in_a_terminal, dumb_terminals_are_spared) {
  ::setenv("TERM", "dumb", 1);
  {
    progress bar({{"pairs", 10}}, slave_);
    bar.update({3});
  }
  EXPECT_EQ(read_all(master_), "");
}

TEST(stop_request, first_signal_only_sets_the_flag) {
  for (int const signal : {SIGINT, SIGTERM, SIGHUP}) {
    stop_request const stop;
    EXPECT_FALSE(stop.requested());
    std::raise(signal);
    EXPECT_TRUE(stop.requested());
  }
}

TEST(stop_request, a_second_signal_at_once_is_the_same_wish) {
  stop_request const stop;
  for (int const signal : {SIGINT, SIGINT, SIGTERM}) std::raise(signal);
  EXPECT_TRUE(stop.requested());
}

TEST(StopRequestDeathTest, a_signal_a_second_later_acts_as_usual) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        stop_request const stop;
        std::raise(SIGINT);
        std::this_thread::sleep_for(1010ms);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(
      {
        stop_request const stop;
        std::raise(SIGINT);
        std::this_thread::sleep_for(1010ms);
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(stop_request, what_was_there_before_comes_back) {
  static int count = 0;
  auto* const before = std::signal(SIGINT, [](int) { ++count; });
  {
    stop_request const stop;
    std::raise(SIGINT);
  }
  EXPECT_EQ(count, 0);
  std::raise(SIGINT);
  EXPECT_EQ(count, 1);
  std::signal(SIGINT, before);
}

TEST(stop_request, ignored_signals_stay_ignored) {
  auto* const before = std::signal(SIGINT, SIG_IGN);
  {
    stop_request const stop;
    std::raise(SIGINT);
    EXPECT_FALSE(stop.requested());
    std::raise(SIGTERM);
    EXPECT_TRUE(stop.requested());
    std::raise(SIGINT);  // still ignored: it was not ours to put back
  }
  std::signal(SIGINT, before);
}

TEST(stop_request, one_at_a_time) {
  {
    stop_request const stop;
    EXPECT_THROW(stop_request{}, usage_error);
    std::raise(SIGINT);
    EXPECT_TRUE(stop.requested());
  }
  stop_request const another;
  EXPECT_FALSE(another.requested());
}

}  // namespace
}  // namespace lull
