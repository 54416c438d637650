// SPDX-License-Identifier: Apache-2.0
// What a trainer and its workers have in common on a machine: its memory, whether they run there at the same time, and
// gates that a worker may overwrite.
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/attach/attachment.hpp>
#include <lull/host/error.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/tests/host/attach/attached_process.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull {
namespace {

using attach::attachment;
using test::attached_options;
using test::process_of;
using test::sharing_trainer;

class attached_machine : public test::attached {};

/// The trainer's own mapping of what it shares.
attach::shared_page* mapped_page() {
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) {
    if (line.find("rw-s") != std::string::npos && line.find("/memfd:lull") != std::string::npos)
      return reinterpret_cast<attach::shared_page*>(std::stoull(line, nullptr, 16));
  }
  return nullptr;
}

TEST_F(attached_machine, a_worker_under_which_a_gate_is_overwritten_is_killed) {
  pid_t const child = process_of([&] {  // its job does not end, though the gate is hardly ever closed
    runtime side{attached_options(address())};
    probe_arrays arrays{{1U << 20}};
    return side.submit(test::slow_task(arrays), "endless").wait(long_enough) ? 0 : 1;
  });
  sharing_trainer trainer{address()};
  await_that([&] {
    trainer.step();
    auto const workers = trainer.side().summary().workers();
    return !workers.empty() && workers.front().bubbles != 0;
  });
  attach::shared_page* const page = mapped_page();
  ASSERT_NE(page, nullptr);
  // As a worker could on a GPU, whose memory it maps for writing.
  std::jthread const overwrites{[&](std::stop_token const& stop) {
    while (!stop.stop_requested()) {
      std::atomic_ref<std::uint32_t>{page->gates[0].line.value}.fetch_add(1'000'001, std::memory_order_relaxed);
      std::this_thread::yield();
    }
  }};
  int status = 0;
  await_that([&] {
    trainer.step();
    return ::waitpid(child, &status, WNOHANG) == child;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_TRUE(has_said(trainer, "all workers are killed"));
  EXPECT_EQ(attachment::to(socket(), {.name = "test"}), nullptr);
  EXPECT_TRUE(trainer.side().mode() == runtime_mode::on);
  EXPECT_TRUE(trainer.is_exact());
}

/// A GPU without MPS, or with it.
class machine_with_turns final : public threads_executor {
 public:
  explicit machine_with_turns(bool together, std::atomic<std::size_t>* kept_free = nullptr)
      : threads_executor(executor_options{.kind = executor_kind::threads, .processors = 2}),
        together_(together),
        kept_free_(kept_free) {}
  bool runs_processes_together() const override { return together_; }
  void keep_free(std::size_t bytes) override {
    if (kept_free_ != nullptr) *kept_free_ = bytes;
  }

 private:
  bool const together_;
  std::atomic<std::size_t>* const kept_free_;
};

TEST_F(attached_machine, processes_that_would_take_turns_on_the_machine) {
  {
    sharing_trainer const trainer{address()};
    std::string const why =
        message_of<usage_error>([&] { attachment::to(socket(), {.name = "test", .together = false}); });
    EXPECT_NE(why.find("works under MPS, and this process does not"), std::string::npos) << why;
    EXPECT_NE(why.find("nvidia-cuda-mps-control -d"), std::string::npos) << why;
  }
  runtime_options options;
  options.share = address();
  test::log_lines lines;
  options.log = lines.function();
  runtime const trainer{std::make_unique<machine_with_turns>(false), options};
  EXPECT_NE(message_of<usage_error>([&] { attachment::to(socket(), {.name = "test"}); }).find("as this process does"),
            std::string::npos);
  EXPECT_NE(message_of<usage_error>([&] {
              attachment::to(socket(), {.name = "test", .together = false});
            }).find("work without MPS"),
            std::string::npos);
  EXPECT_TRUE(within_time([&] {
    auto const all = lines.now();
    return std::any_of(all.begin(), all.end(),
                       [](std::string const& line) { return line.find("no worker can attach") != std::string::npos; });
  }));
}

TEST_F(attached_machine, a_worker_leaves_the_trainers_reserve_free) {
  pid_t const child = process_of([&] {
    std::atomic<std::size_t> kept_free{0};
    runtime const side{std::make_unique<machine_with_turns>(true, &kept_free), attached_options(address())};
    return kept_free == 12'345 ? 0 : 1;
  });
  runtime_options options;
  options.executor.reserve_bytes = 12'345;
  sharing_trainer const trainer{address(), options};
  EXPECT_EQ(test::status_of(child), 0);
}

}  // namespace
}  // namespace lull
