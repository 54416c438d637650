// SPDX-License-Identifier: Apache-2.0
// A driver call that does not return keeps up nobody but the thread that makes it: with each call to the machine stuck
// in turn, and with each call of lull.h that may block inside one, every other call of lull.h returns within 50 ms, or
// so long after its own deadline, while it is still stuck. What makes and ends runtimes and jobs may take longer, since
// it makes calls to the machine itself; it is made for another runtime, which must not wait for this one.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <limits>
#include <ostream>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <lull/tests/apps/c/public_calls.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/held_task.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::c {
namespace {

using namespace std::chrono_literals;
using test::deadline;
using test::deadline_ns;
using test::limit;
using test::public_call;

constexpr int sanitizer_slows = 10;
constexpr int attempts = 20;  // of a call that is late, as it may be where the machine is loaded

struct stuck_call {
  char const* name;
  lull_mode mode = LULL_MODE_ON;
};
void PrintTo(stuck_call const& call, std::ostream* out) { *out << call.name; }

class stuck_c : public test::public_calls {
 protected:
  /// Makes each call, on a thread of its own, while something is stuck.
  void expect_that_all_return(std::function<bool()> const& is_stuck) {
    for (public_call const& call : all_calls()) {
      if (!is_stuck()) break;
      expect_to_return(call);
    }
    EXPECT_TRUE(is_stuck()) << "the call has returned meanwhile, so nothing was tried";
  }
  void expect_to_return(public_call const& call) {
    std::chrono::nanoseconds took{};
    std::chrono::nanoseconds const at_most = call.at_most * (is_sanitized ? sanitizer_slows : 1);
    for (int attempt = 0; attempt < attempts; ++attempt) {
      std::packaged_task<std::pair<lull_status, std::chrono::nanoseconds>()> task{[make = call.make] {
        auto const begin = std::chrono::steady_clock::now();
        lull_status const status = make();
        return std::pair{status, std::chrono::nanoseconds{std::chrono::steady_clock::now() - begin}};
      }};
      auto done = task.get_future();
      std::thread caller{std::move(task)};
      if (done.wait_for(test::hangs_after + deadline) != std::future_status::ready) {
        threads_.push_back(std::move(caller));
        ADD_FAILURE() << call.name << " waits";
        return;
      }
      caller.join();
      auto const found = done.get();
      EXPECT_TRUE(std::find(call.returns.begin(), call.returns.end(), found.first) != call.returns.end())
          << call.name << ": status " << found.first;
      took = found.second;
      if (took <= at_most) return;
    }
    ADD_FAILURE() << call.name << " took " << took / 1us << " us, and each time before more than " << at_most / 1us;
  }
};

/// All that makes calls to the machine, on threads of its own, until one is stuck.
class stuck_machine : public stuck_c, public testing::WithParamInterface<stuck_call> {
 protected:
  void keep_busy() {
    threads_.emplace_back([this] {
      for (std::uint64_t step = 0; !stops_; ++step) {
        a_bubble();
        if (step % 16 == 0) capture_one();
      }
    });
    if (mode_ != LULL_MODE_ON) return;
    threads_.emplace_back([this] {
      for (std::uint64_t n = 0; !stops_; ++n) {
        lull_job* const jobs[] = {test::starving_job(side_, "more"), submitted("compute:items=64,rounds=10")};
        lull_job_feed(watched_, n);
        std::uint64_t given = 0;
        lull_give_back(side_, 1, 5'000'000, &given);
        for (lull_job* const each : jobs) {
          while (lull_job_destroy(each, 1'000'000) == LULL_TIMED_OUT && !stops_) {
          }
        }
      }
    });
  }
  void capture_one() {
    auto const stream = stream_table::find(busy_);
    stream->begin_capture();
    lull_bubble bubble = 0;
    lull_open(side_, busy_, "captured", &bubble);
    lull_close(side_, bubble, busy_);
    threads_graph const graph = stream->end_capture();
    stream->launch(graph);
    stream->synchronize();
  }
};

TEST_P(stuck_machine, keeps_up_no_call_of_another_thread) {
  ASSERT_NO_FATAL_FAILURE(start(GetParam().mode));
  stuck_ = GetParam().name;
  stall_.set(stuck_);
  keep_busy();
  ASSERT_TRUE(stall_.hangs(limit)) << "nothing makes this call";
  expect_that_all_return([this] { return stall_.hangs(0ns); });
}

std::string name_of_test(testing::TestParamInfo<stuck_call> const& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(on, stuck_machine, testing::ValuesIn(calls_that_stall<stuck_call>()), name_of_test);
INSTANTIATE_TEST_SUITE_P(observe, stuck_machine,
                         testing::ValuesIn(observed_calls_that_stall<stuck_call>(LULL_MODE_OBSERVE)), name_of_test);

/// One call of lull.h that may block does, on a thread of its own; nothing else is busy.
class stuck_inside : public stuck_c {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(start(LULL_MODE_ON)); }
  void TearDown() override {
    if (end_) end_();
    stuck_c::TearDown();
  }

  /// `call` is made, and this call to the machine, or to the log callback, hangs in it.
  void begin(char const* at, std::function<lull_status()> call) {
    stall_.set(at);
    begin(std::move(call), [this] { stall_.let_go(); });
    ASSERT_TRUE(stall_.hangs(limit)) << "it does not make this call";
  }
  void begin(std::function<lull_status()> call, std::function<void()> ends) {
    end_ = std::move(ends);
    std::packaged_task<lull_status()> task{std::move(call)};
    returned_ = task.get_future();
    threads_.emplace_back(std::move(task));
  }
  /// All others return meanwhile. Then it does, and returns this.
  void expect_others_to_return(lull_status then) {
    expect_that_all_return([this] { return returned_.wait_for(0ns) == std::future_status::timeout; });
    end_();
    ASSERT_EQ(returned_.wait_for(limit), std::future_status::ready);
    EXPECT_EQ(returned_.get(), then);
  }

  stall other_stall_;  // of a machine of its own
  lull_runtime* another_ = nullptr;
  lull_job* made_ = nullptr;
  std::function<void()> end_;
  std::future<lull_status> returned_;
};

TEST_F(stuck_inside, lull_submit_that_allocates) {
  begin("allocate", [this] { return lull_submit(side_, "compute:items=64", nullptr, &made_); });
  expect_others_to_return(LULL_OK);
}

/// … under the runtime's mutex.
TEST_F(stuck_inside, lull_submit_that_loads_code) {
  begin("load", [this] { return lull_submit(side_, "compute:items=64", nullptr, &made_); });
  expect_others_to_return(LULL_OK);
}

/// A profile of another machine is told to the log, by the thread that makes the runtime.
TEST_F(stuck_inside, lull_create_whose_log_callback_stays) {
  test::test_folder const files;
  std::string const profile = files.write("profile.json", R"({"schema": "lull.profile/2", "version": "0",
      "executor": "cuda", "machine": {"gpu": null}, "profiles": [{"task": {"name": "compute", "options": {}},
      "lengths": [{"longest_bubble": "1ms", "training": null}]}]})");
  begin("log", [this, profile] {
    lull_options asked = options_on(LULL_MODE_ON);
    asked.profile = profile.c_str();
    return lull_create(&asked, &another_);
  });
  expect_others_to_return(LULL_OK);
  EXPECT_EQ(lull_destroy(another_), LULL_OK) << lull_error_text();
}

/// A runtime that has observed tells its report to the log.
TEST_F(stuck_inside, lull_destroy_whose_log_callback_stays) {
  lull_options const asked = options_on(LULL_MODE_OBSERVE);
  ASSERT_EQ(lull_create(&asked, &another_), LULL_OK) << lull_error_text();
  begin("log", [this] { return lull_destroy(another_); });
  expect_others_to_return(LULL_OK);
}

TEST_F(stuck_inside, lull_destroy_that_releases_memory) {
  another_ = test::stalling_runtime(other_stall_, options_on(LULL_MODE_ON));
  subject_ = test::starving_job(another_, "another");
  other_stall_.set("release");
  begin([this] { return lull_destroy(another_); }, [this] { other_stall_.let_go(); });
  ASSERT_TRUE(other_stall_.hangs(limit));
  expect_others_to_return(LULL_OK);
}

TEST_F(stuck_inside, lull_job_result_that_reads_it_back) {
  subject_ = last_;
  begin("read", [this] { return lull_job_result(subject_, text_, sizeof text_, nullptr); });
  expect_others_to_return(LULL_OK);
}

TEST_F(stuck_inside, lull_job_verify_that_reads_it_back) {
  subject_ = last_;
  begin("read", [this] {
    int ok = 0;
    return lull_job_verify(subject_, &ok, text_, sizeof text_, nullptr);
  });
  expect_others_to_return(LULL_OK);
}

TEST_F(stuck_inside, lull_job_destroy_that_releases_memory) {
  subject_ = last_;
  begin("release", [this] { return lull_job_destroy(subject_, deadline_ns); });
  expect_others_to_return(LULL_OK);
}

TEST_F(stuck_inside, lull_job_wait_without_an_end) {
  subject_ = test::starving_job(side_, "waited for");
  begin([this] { return lull_job_wait(subject_, std::numeric_limits<std::uint64_t>::max()); },
        [this] { lull_job_cancel(subject_); });
  without_cancel_ = true;
  expect_others_to_return(LULL_OK);
}

/// A block stays inside its chunk.
TEST_F(stuck_inside, lull_pause_all_that_waits) {
  static std::atomic<bool> began{false};
  static std::atomic<bool> goes{false};
  job const held = test::found(side_)->side->submit(test::threads_job(held_task{&began, &goes}));
  ASSERT_TRUE(within_time([this] { return a_bubble(), began.load(); }));
  begin([this] { return lull_pause_all(side_, 60'000'000'000); },
        [] {
          goes = true;
          goes.notify_all();
        });
  expect_others_to_return(LULL_OK);
  EXPECT_EQ(lull_resume_all(side_), LULL_OK) << lull_error_text();
}

/// Threads of the library's that save a job.
class stuck_save : public stuck_c {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(start(LULL_MODE_ON));
    lull_job_options asked{};
    asked.size = sizeof asked;
    asked.checkpoint = folder_.c_str();
    asked.checkpoint_every_ns = 1;
    subject_ = submitted("compute:items=64,rounds=1000000000", &asked);
  }

  /// A first save may be over, and the next comes when the job has gone on.
  bool a_save_hangs() {
    auto const give_up = deadline_after(limit);
    while (!stall_.hangs(10ms) && left_until(give_up).count() != 0) a_bubble();
    return stall_.hangs(0ns);
  }

  test::test_folder const files_;
  std::string const folder_ = files_.at("saved");
};

TEST_F(stuck_save, that_reads_the_arrays) {
  stall_.set("read");
  ASSERT_TRUE(a_save_hangs());
  expect_that_all_return([this] { return stall_.hangs(0ns); });
}

/// The folder has gone, which is told.
TEST_F(stuck_save, whose_log_callback_stays) {
  stall_.set("log");
  std::filesystem::remove_all(folder_);
  ASSERT_TRUE(a_save_hangs());
  expect_that_all_return([this] { return stall_.hangs(0ns); });
}

/// So that a call that comes to lull.h comes here, too.
TEST_F(stuck_c, calls_are_those_of_the_header) {
  auto const names_in = [](std::string const& text, char const* pattern) {
    std::set<std::string> names;
    std::regex const name{pattern};
    for (std::sregex_iterator each{text.begin(), text.end(), name}; each != std::sregex_iterator{}; ++each)
      names.insert((*each)[1]);
    return names;
  };
  std::set<std::string> declared;
  for (char const* const name : {"lull.h", "lull_threads.h"}) {
    std::ifstream header{std::string{LULL_HEADERS} + name};
    std::string const text{std::istreambuf_iterator<char>{header}, {}};
    declared.merge(names_in(text, R"(\n\w[\w ]*[ *]+(lull_\w+)\()"));
  }
  EXPECT_EQ(declared.size(), 44U) << "40 calls are the interface, and 4 are for tests";
  std::set<std::string> made;
  for (test::unmade_call const& each : test::calls_not_made) made.insert(each.name);
  for (public_call const& each : all_calls()) made.merge(names_in(each.name, R"((lull_\w+))"));
  EXPECT_EQ(made, declared);
}

}  // namespace
}  // namespace lull::c
