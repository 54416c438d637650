// SPDX-License-Identifier: Apache-2.0
// Edges inside captures that other code began, on a stream that is harvested plain before and after: on a real device.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/host/cuda/device_probe.hpp>
#include <lull/tests/host/cuda_graph/node_kernels.hpp>
#include <lull/tests/support/log_lines.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
constexpr cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                           cudaStreamCaptureModeRelaxed};

class captured_edges_on_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    trainer::load();
    stream_ = cuda_stream{0};
    side_ = std::make_unique<runtime>(runtime_options{.executor = {.kind = executor_kind::cuda},
                                                      .tasks = {type_of<probe_task>()},
                                                      .log = log_.function(),
                                                      .tuning = {.training_worth = 0}});
  }
  bubble_id open(char const* where) { return side_->open(stream_.get(), site{where}); }
  void close(bubble_id id) { side_->close(id, stream_.get()); }
  void wait() { trainer::wait_one_thread(stream_.get(), 50'000, nullptr); }
  /// One step of a trainer, which does not know whether it is captured.
  void step() {
    for (char const* const where : {"first", "second"}) {
      {
        bubble const idle{*side_, stream_.get(), site{where}};
        wait();
      }
      trainer::burst(stream_.get(), 132, 512, 400, nullptr);
    }
  }
  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    LULL_CUDA(cudaStreamBeginCapture(stream_.get(), mode));
  }
  cuda_graph end() {
    cudaGraph_t graph{};
    LULL_CUDA(cudaStreamEndCapture(stream_.get(), &graph));
    return cuda_graph{graph};
  }
  void launch(cuda_graph const& graph) { LULL_CUDA(cudaGraphLaunch(graph.executable(), stream_.get())); }
  void synchronize() { LULL_CUDA(cudaStreamSynchronize(stream_.get())); }
  /// Does the step again and again until the job is over.
  void finish(job const& task, std::function<void()> const& one_step) {
    for (int i = 0; i < 200'000 && !task.wait(0ns); ++i) {
      one_step();
      if (i % 16 == 15) synchronize();
    }
    synchronize();
    ASSERT_TRUE(task.wait(long_enough)) << "phases " << task.progress().phases << ", " << log_;
    EXPECT_EQ(side_->mode(), runtime_mode::on) << log_;
  }

  cuda_stream stream_;
  test::log_lines log_;
  std::unique_ptr<runtime> side_;
};

TEST_F(captured_edges_on_cuda, warm_up_steps_and_captures_in_every_mode_take_turns_on_one_stream) {
  device_probe probe{executor_of(*side_), {200'000, 1, 200'000}};
  job const task = side_->submit(probe.task());
  std::vector<cuda_graph> graphs;
  for (cudaStreamCaptureMode const mode : modes) {
    for (int warm_up = 0; warm_up < 3; ++warm_up) step();
    begin(mode);
    step();
    graphs.push_back(end());
  }
  int turns = 0;
  finish(task, [&] {
    launch(graphs[static_cast<std::size_t>(turns++) % graphs.size()]);
    step();
  });
  EXPECT_STREQ(probe.wrong(), nullptr);
  await_that([&] { return side_->counts()[counted::replayed] + side_->counts()[counted::dropped] != 0; });
  runtime_counts const counts = side_->counts();
  EXPECT_EQ(counts[counted::captured], 6U);
  EXPECT_EQ(
      counts[counted::nested] + counts[counted::unmatched] + counts[counted::abandoned] + counts[counted::not_captured],
      0U);
}

/// The dispatcher and other threads of the program must not spoil the capture: they collect plain bubbles, read graphs,
/// move jobs into their places and out of them.
TEST_F(captured_edges_on_cuda, jobs_come_and_go_while_a_stream_is_captured_in_every_mode) {
  cuda_stream const other{0};
  for (cudaStreamCaptureMode const mode : modes) {
    device_probe probe{executor_of(*side_), {1U << 22}};
    job task = side_->submit(probe.task());
    for (int warm_up = 0; warm_up < 20; ++warm_up) step();  // not yet collected when the capture begins
    begin(mode);
    bubble_id const id = open("first");
    wait();
    std::thread{[&] {
      EXPECT_TRUE(side_->pause_all(long_enough));
      side_->resume_all();
      task.pause();
      device_probe second{executor_of(*side_), {5'000}};
      job const meanwhile = side_->submit(second.task());
      for (int i = 0; i < 20'000 && !meanwhile.wait(0ns); ++i) {
        bubble const idle{*side_, other.get(), site{"other"}};
        trainer::wait_one_thread(other.get(), 50'000, nullptr);
        std::this_thread::sleep_for(100us);
      }
      EXPECT_TRUE(meanwhile.wait(long_enough)) << log_;
      EXPECT_STREQ(second.wrong(), nullptr);
      task.cancel();
      EXPECT_TRUE(task.wait(long_enough));
    }}.join();
    close(id);
    cuda_graph const graph = end();
    device_probe last{executor_of(*side_), {5'000, 3}};
    job const in_replays = side_->submit(last.task());
    finish(in_replays, [&] { launch(graph); });
    EXPECT_STREQ(last.wrong(), nullptr);
    LULL_CUDA(cudaStreamSynchronize(other.get()));
  }
  EXPECT_EQ(side_->counts()[counted::unmatched], 0U);
}

TEST_F(captured_edges_on_cuda, bubbles_that_a_capture_cuts_in_two_are_counted_and_the_next_ones_work) {
  device_probe probe{executor_of(*side_), {1U << 22}};
  job task = side_->submit(probe.task());
  await_that([&] { return side_->ready(stream_.get()); });
  bubble_id const before = open("cut");
  ASSERT_NE(before.bubble, 0U);
  begin();
  close(before);
  bubble_id const inside = open("unclosed");
  ASSERT_NE(inside.bubble, 0U);
  wait();
  cuda_graph const unclosed = end();
  close(inside);
  begin();
  close(inside);  // another capture of the same stream
  step();         // not nested
  cuda_graph const whole = end();
  EXPECT_EQ(side_->counts()[counted::unmatched], 3U);
  EXPECT_EQ(side_->counts()[counted::nested], 0U);
  EXPECT_EQ(side_->counts()[counted::captured], 3U);
  for (int i = 0; i < 2; ++i) launch(unclosed);  // comes back: a lease each
  synchronize();
  {
    bubble const idle{*side_, stream_.get(), site{"cut"}};
    wait();
  }
  EXPECT_EQ(side_->counts()[counted::abandoned], 1U);
  task.cancel();
  ASSERT_TRUE(task.wait(long_enough));
  EXPECT_EQ(task.progress().items, probe.ran());
  device_probe next{executor_of(*side_), {5'000, 1, 5'000}};
  job const after = side_->submit(next.task());
  finish(after, [&] {
    launch(whole);
    step();
  });
  EXPECT_STREQ(next.wrong(), nullptr);
}

TEST_F(captured_edges_on_cuda, a_capture_that_its_owner_spoils_leaves_harvesting_on) {
  begin();
  bubble_id const id = open("first");
  EXPECT_NE(id.bubble, 0U);
  EXPECT_NE(cudaStreamSynchronize(stream_.get()), cudaSuccess);  // not allowed, and ends the capture
  cudaGetLastError();
  close(id);
  EXPECT_EQ(open("second").bubble, 0U);
  cudaGraph_t graph{};
  EXPECT_NE(cudaStreamEndCapture(stream_.get(), &graph), cudaSuccess);
  EXPECT_EQ(graph, nullptr);
  cudaGetLastError();
  EXPECT_EQ(side_->counts()[counted::unmatched], 1U);
  EXPECT_EQ(side_->counts()[counted::not_captured], 1U);
  begin();
  step();
  cuda_graph const next = end();
  device_probe probe{executor_of(*side_), {20'000, 1}};
  job const task = side_->submit(probe.task());
  finish(task, [&] {
    launch(next);
    step();
  });
  EXPECT_STREQ(probe.wrong(), nullptr);
}

/// A kernel that lets the next one begin at once takes 10 µs after that: the closing edge after it waits for its end,
/// on the stream and in a graph, where the dependency is a programmatic edge.
TEST_F(captured_edges_on_cuda, a_close_after_kernels_that_let_the_next_begin_early_comes_when_they_have_ended) {
  std::vector<std::uint32_t> const ones(1'024, 1);
  device_array<std::uint32_t> const x{side_->memory(), ones}, y{side_->memory(), ones};
  auto const early_step = [&] {
    bubble const idle{*side_, stream_.get(), site{"early"}};
    trainer::wait_one_thread(stream_.get(), 400'000, nullptr);
    for (std::uint32_t node = 0; node < 2; ++node)
      test::apply_early_node(stream_.get(), x.data(), y.data(), 1'024, node);
  };
  device_probe probe{executor_of(*side_), {200'000, 1, 200'000}};
  job const task = side_->submit(probe.task());
  await_that([&] { return side_->ready(stream_.get()); });
  begin();
  early_step();
  cuda_graph const graph = end();
  std::uint32_t expected = 1;
  for (int turn = 0; turn < 100; ++turn) {
    launch(graph);
    early_step();
    for (std::uint32_t node : {0U, 1U, 0U, 1U}) expected = test::applied_node(expected, 1, node);
    synchronize();
  }
  EXPECT_EQ(x.read(), std::vector<std::uint32_t>(1'024, expected));
  std::vector<bubble_report> found;
  EXPECT_TRUE(within_time([&] {  // after the job has ended, the stream's bubbles are not opened
    for (bubble_report const& each : side_->take_bubbles()) found.push_back(each);
    return found.size() + 1 >= 100 + side_->counts()[counted::opened];
  })) << found.size()
      << " bubbles, " << log_;
  int known = 0;
  for (bubble_report const& each : found) {
    if (each.length == 0ns) continue;
    ++known;
    EXPECT_GE(each.length, 415us) << "it closed before its kernels had ended";
  }
  EXPECT_GE(known, 100);
  finish(task, early_step);
  EXPECT_STREQ(probe.wrong(), nullptr);
}

}  // namespace
}  // namespace lull
