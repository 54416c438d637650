// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tests/apps/c/stalling_runtime.hpp>

namespace lull::test {

inline constexpr auto limit = std::chrono::seconds{60};
inline constexpr auto at_once = std::chrono::milliseconds{50};
inline constexpr auto hangs_after = std::chrono::seconds{3};  // a call that has not returned by then waits for another
inline constexpr std::uint64_t deadline_ns = 20'000'000;      // of calls that have one
inline constexpr auto deadline = std::chrono::nanoseconds{deadline_ns};

/// Calls of lull.h that the table does not make, and why.
struct unmade_call {
  char const* name;
  char const* why;
};
inline constexpr std::array calls_not_made{
    unmade_call{"lull_submit_graph", "is a submission, and needs a CUDA graph"},
    unmade_call{"lull_graph_stream", "makes a stream of a CUDA device"},
    unmade_call{"lull_measure_reserved_groups", "may wait for its CUDA device"},
};

/// A call of lull.h, or several.
struct public_call {
  std::string name;
  std::function<lull_status()> make;
  std::chrono::nanoseconds at_most = at_once;
  std::vector<lull_status> returns = {LULL_OK};  // one of these
};

/// A trainer with a stream that stays free, a job that starves, and one that has finished and whose result is known.
class public_calls : public testing::Test {
 protected:
  void start(lull_mode mode) {
    mode_ = mode;
    side_ = test::stalling_runtime(stall_, options_on(mode));
    ASSERT_EQ(lull_threads_stream_create(&busy_), LULL_OK) << lull_error_text();
    ASSERT_EQ(lull_threads_stream_create(&other_), LULL_OK) << lull_error_text();
    if (mode == LULL_MODE_ON) {  // before there are jobs that starve in the places
      for (lull_job** const each : {&finished_, &last_}) *each = finished("pagerank:kronecker=6,top=1");
      int ok = 0;
      ASSERT_EQ(lull_job_verify(finished_, &ok, text_, sizeof text_, nullptr), LULL_OK) << lull_error_text();
      ASSERT_EQ(lull_job_result(finished_, text_, sizeof text_, nullptr), LULL_OK) << lull_error_text();
    }
    watched_ = test::starving_job(side_, "watched");
    doomed_ = test::starving_job(side_, "doomed");
    ASSERT_EQ(lull_bound_slowdown(side_, 0.5), LULL_OK) << lull_error_text();
  }
  void TearDown() override {
    stops_ = true;
    stall_.let_go();
    for (auto& each : threads_) each.join();
    if (side_ == nullptr) return;
    EXPECT_EQ(lull_destroy(side_), LULL_OK) << lull_error_text();
    for (lull_threads_stream* const each : {busy_, other_}) EXPECT_EQ(lull_threads_stream_destroy(each), LULL_OK);
  }

  lull_options options_on(lull_mode mode) {
    lull_options asked = LULL_OPTIONS;
    asked.executor = LULL_EXECUTOR_THREADS;
    asked.mode = mode;
    asked.processors = 1;
    asked.memory_limit_bytes = std::size_t{256} << 20;
    asked.reserve_bytes = 1 << 20;
    asked.saved_bytes = std::size_t{16} << 20;
    asked.tasks = "";
    asked.log = [](void* where, char const*) { static_cast<stall*>(where)->at("log"); };
    asked.log_context = &stall_;
    return asked;
  }

  void a_bubble() {
    lull_bubble bubble = 0;
    lull_open(side_, busy_, "receive", &bubble);
    lull_threads_stream_sleep(busy_, 1'000'000);  // worth a worker
    lull_close(side_, bubble, busy_);
    lull_step(side_, busy_, LULL_NEXT_STEP, 0);
    lull_threads_stream_synchronize(busy_);
  }

  lull_job* submitted(char const* task, lull_job_options const* options = nullptr) {
    lull_job* made = nullptr;
    EXPECT_EQ(lull_submit(side_, task, options, &made), LULL_OK) << lull_error_text();
    return made;
  }
  lull_job* finished(char const* task) {
    lull_job* const made = submitted(task);
    auto const give_up = deadline_after(limit);
    while (lull_job_wait(made, 0) == LULL_TIMED_OUT && left_until(give_up).count() != 0) a_bubble();
    return made;
  }

  /// Each call of lull.h that needs a runtime or nothing.
  std::vector<public_call> calls_of_a_runtime() {
    std::vector<lull_status> const in_time{LULL_OK, LULL_TIMED_OUT};
    std::vector<public_call> all{
        {"lull_abi", [] { return lull_abi() == LULL_ABI ? LULL_OK : LULL_ERROR_ABI; }},
        {"lull_version", [] { return lull_version() != nullptr ? LULL_OK : LULL_ERROR_INTERNAL; }},
        {"lull_error_text", [] { return *lull_error_text() == 0 ? LULL_OK : LULL_ERROR_INTERNAL; }},
        {"lull_tasks", [] { return with_text([](auto... text) { return lull_tasks(text...); }); }},
        {"lull_get_mode",
         [this] {
           lull_mode mode = LULL_MODE_DEFAULT;
           return with_text([&](auto... text) { return lull_get_mode(side_, &mode, text...); });
         }},
        {"lull_pause_all, lull_resume_all",
         [this] {
           lull_status const reached = lull_pause_all(side_, deadline_ns);
           return reached == LULL_OK ? lull_resume_all(side_) : reached;
         },
         at_once + deadline, in_time},
        {"lull_resume_all alone", [this] { return lull_resume_all(side_); }, at_once, {LULL_OK, LULL_ERROR_STATE}},
        {"lull_give_back",
         [this] {
           std::uint64_t given = 0;
           return lull_give_back(side_, 1 << 20, deadline_ns, &given);
         },
         at_once + deadline},
        {"lull_give_back of what the reserve lacks",
         [this] {
           std::uint64_t given = 0;
           return lull_give_back(side_, 0, deadline_ns, &given);
         },
         at_once + deadline},
        {"lull_wait_all", [this] { return lull_wait_all(side_, deadline_ns); }, at_once + deadline, in_time},
        {"lull_get_counts",
         [this] {
           lull_counts counts{};
           counts.size = sizeof counts;
           return lull_get_counts(side_, &counts);
         }},
        {"lull_get_steps",
         [this] {
           lull_steps steps{};
           steps.size = sizeof steps;
           return first_error({lull_get_steps(side_, nullptr, &steps), lull_get_steps(side_, "watched", &steps)});
         }},
        {"lull_open, lull_close",
         [this] {
           lull_bubble bubble = 0;
           return first_error({lull_open(side_, other_, "other", &bubble), lull_close(side_, bubble, other_)});
         }},
        {"lull_ready",
         [this] {
           int ready = 0;
           return lull_ready(side_, other_, &ready);
         }},
        {"lull_step that is skipped", [this] { return lull_step(side_, nullptr, LULL_SKIP_STEP, 0); }},
        {"lull_bound_slowdown", [this] { return lull_bound_slowdown(side_, 0.25); }},
        {"lull_assume_slowdown", [this] { return lull_assume_slowdown(side_, "watched", 0.01); }},
        {"lull_pool_allocate, lull_pool_free",
         [] {
           lull_pool_free(lull_pool_allocate(1 << 20, 0, nullptr), 1 << 20, 0, nullptr);
           return LULL_OK;
         }},
        {"lull_memory_create, lull_memory_enter, lull_memory_destroy",
         [] {
           lull_memory* memory = nullptr;
           return first_error({lull_memory_create(&memory), lull_memory_enter(memory), lull_memory_enter(nullptr),
                               lull_memory_destroy(memory)});
         }},
        {"lull_threads_stream_create, lull_threads_stream_sleep, lull_threads_stream_synchronize, "
         "lull_threads_stream_destroy",
         [] {
           lull_threads_stream* stream = nullptr;
           return first_error({lull_threads_stream_create(&stream), lull_threads_stream_sleep(stream, 1),
                               lull_threads_stream_synchronize(stream), lull_threads_stream_destroy(stream)});
         }},
    };
    // They may take their time, but wait for no other runtime's call.
    all.push_back(
        {"lull_create, lull_submit, lull_job_destroy, lull_destroy of another runtime", another_runtime, hangs_after});
    for (int const format : {LULL_FORMAT_TEXT, LULL_FORMAT_JSON, LULL_FORMAT_TRACE}) {
      all.push_back({"lull_report, format " + std::to_string(format), [this, format] {
                       return with_text([&](auto... text) { return lull_report(side_, format, text...); });
                     }});
    }
    // A trainer's steps come one after the other, so the next waits for one that is being marked.
    if (is_marking(stuck_)) return all;
    all.push_back({"lull_step", [this] { return lull_step(side_, other_, LULL_NEXT_STEP, 0); }});
    all.push_back({"lull_step with a number", [this] { return lull_step(side_, other_, ++number_, 0); }});
    return all;
  }

  /// Each call of lull.h that needs a job. `returns`: besides LULL_OK.
  static std::vector<public_call> calls_of_a_job(std::string const& name, lull_job* job,
                                                 std::vector<lull_status> returns = {}) {
    returns.push_back(LULL_OK);
    std::vector<lull_status> in_time = returns;
    in_time.push_back(LULL_TIMED_OUT);
    return {
        {"lull_job_get_status of " + name, [job] { return status_of(job); }, at_once, returns},
        {"lull_job_pause of " + name, [job] { return lull_job_pause(job); }, at_once, returns},
        {"lull_job_resume of " + name, [job] { return lull_job_resume(job); }, at_once, returns},
        {"lull_job_wait of " + name, [job] { return lull_job_wait(job, deadline_ns); }, at_once + deadline, in_time},
        {"lull_job_hold, lull_job_let_go of " + name,
         [job] {
           lull_status const held = lull_job_hold(job, deadline_ns);
           return held == LULL_OK ? lull_job_let_go(job) : held;
         },
         at_once + deadline, in_time},
    };
  }

  std::vector<public_call> all_calls() {
    std::vector<public_call> all = calls_of_a_runtime();
    auto const add = [&](std::vector<public_call> more) {
      all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    };
    add(calls_of_a_job("one that starves", watched_));
    if (finished_ != nullptr) add(calls_of_a_job("one that has finished", finished_));
    if (subject_ != nullptr) add(calls_of_a_job("the job that is stuck", subject_, {LULL_ERROR_HANDLE}));
    add({{"lull_job_feed", [this] { return lull_job_feed(watched_, 1); }},
         {"lull_job_cancel", [this] { return lull_job_cancel(doomed_); }},
         {"lull_job_result of one that starves",
          [this] { return with_text([&](auto... text) { return lull_job_result(watched_, text...); }); },
          at_once,
          {LULL_OK, LULL_ERROR_STATE}},
         {"lull_job_verify of a graph",
          [this] {
            int ok = 0;
            return with_text([&](auto... text) { return lull_job_verify(watched_, &ok, text...); });
          },
          at_once,
          {LULL_ERROR_STATE}}});
    if (subject_ != nullptr && !without_cancel_) {
      all.push_back({"lull_job_cancel of the job that is stuck",
                     [this] { return lull_job_cancel(subject_); },
                     at_once,
                     {LULL_OK, LULL_ERROR_HANDLE}});
    }
    if (finished_ == nullptr) return all;
    add({{"lull_job_result that is known",
          [this] { return with_text([&](auto... text) { return lull_job_result(finished_, text...); }); }},
         {"lull_job_verify that is known", [this] {
            int ok = 0;
            return with_text([&](auto... text) { return lull_job_verify(finished_, &ok, text...); });
          }}});
    return all;
  }

  template <class Call>
  static lull_status with_text(Call const& call) {
    std::vector<char> text(std::size_t{1} << 20);
    return call(text.data(), text.size(), static_cast<std::size_t*>(nullptr));
  }
  static lull_status first_error(std::initializer_list<lull_status> of) {
    auto const found = std::find_if(of.begin(), of.end(), [](lull_status each) { return each != LULL_OK; });
    return found == of.end() ? LULL_OK : *found;
  }
  static lull_status status_of(lull_job* job) {
    lull_job_status status{};
    status.size = sizeof status;
    return lull_job_get_status(job, &status);
  }
  static lull_status another_runtime() {
    lull_options asked = LULL_OPTIONS;
    asked.executor = LULL_EXECUTOR_THREADS;
    asked.processors = 1;
    asked.tasks = "";
    lull_runtime* side = nullptr;
    lull_job* job = nullptr;
    return first_error({lull_create(&asked, &side), lull_submit(side, "compute:items=16,rounds=1", nullptr, &job),
                        lull_job_destroy(job, 2'000'000'000), lull_destroy(side)});
  }
  static bool is_marking(std::string const& call) {
    return call == "note" || call == "make_moment" || call == "write_word";
  }

  lull_mode mode_ = LULL_MODE_ON;
  std::string stuck_;  // call to the machine
  stall stall_;
  lull_runtime* side_ = nullptr;
  lull_threads_stream* busy_ = nullptr;
  lull_threads_stream* other_ = nullptr;
  lull_job* watched_ = nullptr;
  lull_job* doomed_ = nullptr;
  lull_job* finished_ = nullptr;
  lull_job* last_ = nullptr;     // has finished, too; nobody has asked for its result
  lull_job* subject_ = nullptr;  // of the call that is stuck, where it is a job's
  bool without_cancel_ = false;  // which would end that call
  char text_[4096] = {};
  std::atomic<std::uint64_t> number_{1'000'000};
  std::atomic<bool> stops_{false};
  std::vector<std::thread> threads_;  // of a test: they end when nothing is stuck any longer
};

}  // namespace lull::test
