// SPDX-License-Identifier: Apache-2.0
// Bubbles in captured CUDA graphs, on a real device.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tests/host/cuda/device_probe.hpp>
#include <lull/tests/support/log_lines.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class captured_on_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    trainer::load();
    stream_ = cuda_stream{0};
    start();
  }
  void start(runtime_mode mode = runtime_mode::on, std::vector<task_type> types = {type_of<probe_task>()}) {
    side_.reset();
    side_ = std::make_unique<runtime>(runtime_options{.executor = {.kind = executor_kind::cuda},
                                                      .mode = mode,
                                                      .tasks = std::move(types),
                                                      .log = log_.function(),
                                                      .tuning = {.training_worth = 0}});
  }
  void bubbles(cudaStream_t stream, std::uint64_t ns, std::string const& name, int count = 3) {
    for (int i = 0; i < count; ++i) {
      {
        bubble const idle{*side_, stream, site{name + std::to_string(i)}};
        trainer::wait_one_thread(stream, ns, nullptr);
      }
      trainer::burst(stream, 132, 512, 400, nullptr);
    }
  }
  cuda_graph capture(std::uint64_t ns, std::string const& name = "step",
                     cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal, int count = 3) {
    LULL_CUDA(cudaStreamBeginCapture(stream_.get(), mode));
    bubbles(stream_.get(), ns, name, count);
    return ended();
  }
  static std::size_t nodes(cuda_graph const& graph) {
    std::size_t count = 0;
    LULL_CUDA(cudaGraphGetNodes(graph.get(), nullptr, &count));
    return count;
  }
  cuda_graph ended() {
    cudaGraph_t graph{};
    LULL_CUDA(cudaStreamEndCapture(stream_.get(), &graph));
    return cuda_graph{graph};
  }
  static bool is_over(job const& task) { return task.wait(0ns); }
  /// Keeps many replays in flight at once.
  void replay(std::vector<cudaGraphExec_t> const& all, std::function<bool()> const& done, int most = 200'000) {
    for (int i = 0; i < most && !done(); ++i) {
      LULL_CUDA(cudaGraphLaunch(all[static_cast<std::size_t>(i) % all.size()], stream_.get()));
      if (i % 32 == 31) LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    }
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  }
  /// Runs a job to its end in replays of these graphs.
  void works(std::vector<cudaGraphExec_t> const& all) {
    device_probe probe{executor_of(*side_), {5000, 1, 0, 170, 30'000, 2}};
    job task = side_->submit(probe.task());
    replay(all, [&] { return is_over(task); });
    ASSERT_TRUE(task.wait(long_enough)) << "phases " << task.progress().phases << ", " << log_;
    EXPECT_STREQ(probe.wrong(), nullptr);
  }

  cuda_stream stream_;
  test::log_lines log_;
  std::unique_ptr<runtime> side_;
};

TEST_F(captured_on_cuda, a_job_is_done_in_replays_of_two_graphs_exactly_once) {
  cuda_graph const a = capture(50'000, "a");
  cuda_graph const b = capture(20'000, "b");
  EXPECT_EQ(side_->counts()[counted::captured], 6U);
  works({a.executable(), b.executable()});
  EXPECT_EQ(side_->mode(), runtime_mode::on) << log_;
}

TEST_F(captured_on_cuda, capture_in_every_mode_by_another_thread_and_of_a_forked_stream) {
  for (auto const mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    cuda_graph const graph = capture(30'000, "mode", mode);
    works({graph.executable()});
  }
  LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeRelaxed));
  std::thread{[&] { bubbles(stream_.get(), 30'000, "thread"); }}.join();
  cuda_graph const by_thread = ended();
  works({by_thread.executable()});

  cuda_stream const forked{0};
  cuda_event const fork{event_timing::off};
  cuda_event const join{event_timing::off};
  LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal));
  LULL_CUDA(cudaEventRecord(fork.get(), stream_.get()));
  LULL_CUDA(cudaStreamWaitEvent(forked.get(), fork.get(), 0));
  bubbles(forked.get(), 30'000, "forked");
  bubbles(stream_.get(), 20'000, "origin");
  LULL_CUDA(cudaEventRecord(join.get(), forked.get()));
  LULL_CUDA(cudaStreamWaitEvent(stream_.get(), join.get(), 0));
  cuda_graph const with_fork = ended();
  works({with_fork.executable()});
  EXPECT_EQ(side_->counts()[counted::nested], 0U);
}

TEST_F(captured_on_cuda, submitting_inside_a_global_capture_does_not_spoil_it) {
  LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal));
  bubbles(stream_.get(), 30'000, "a");
  auto probe = std::make_unique<device_probe>(executor_of(*side_), std::vector<std::uint64_t>{5000, 3});
  job const task = side_->submit(probe->task());
  bubbles(stream_.get(), 30'000, "b");
  cuda_graph const graph = ended();
  replay({graph.executable()}, [&] { return is_over(task); });
  EXPECT_STREQ(probe->wrong(), nullptr);
}

TEST_F(captured_on_cuda, workers_of_types_without_a_job_make_way) {
  start(runtime_mode::on, {type_of<compute_task>(), type_of<streaming_task>()});
  constexpr std::uint64_t tiles = 1 << 10;
  device_array<float> const from{side_->memory(), tiles * streaming_task::tile};
  device_array<float> const to{side_->memory(), tiles * streaming_task::tile};
  job task = side_->submit(streaming_task{from.data(), to.data(), tiles, std::uint64_t{1} << 38}, "copy");
  cuda_graph const graph = capture(2'000'000, "long");
  for (int i = 0; i < 20; ++i) {
    LULL_CUDA(cudaGraphLaunch(graph.executable(), stream_.get()));
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  }
  task.cancel();
  ASSERT_TRUE(task.wait(long_enough));
  std::uint64_t worked = 0;
  std::uint64_t launched = 0;
  for (bubble_report const& one : side_->take_bubbles()) {
    worked += one.record().blocks;
    launched += one.current.launched;
  }
  ASSERT_NE(launched, 0U);
  EXPECT_GT(worked * 10, launched * 9);
}

TEST_F(captured_on_cuda, clones_second_instances_and_updates_share_and_give_up_slots) {
  cuda_graph first = capture(40'000);
  cudaGraph_t copy{};
  LULL_CUDA(cudaGraphClone(&copy, first.get()));
  cuda_graph clone{copy};
  cudaGraphExec_t again{};
  LULL_CUDA(cudaGraphInstantiate(&again, first.get(), 0));
  works({first.executable(), clone.executable(), again});
  LULL_CUDA(cudaGraphExecDestroy(again));
  // the same bubbles, then others
  cuda_graph same = capture(20'000);
  cuda_graph other = capture(30'000, "other", cudaStreamCaptureModeGlobal, 5);
  cudaGraphExecUpdateResultInfo info{};
  LULL_CUDA(cudaGraphExecUpdate(first.executable(), same.get(), &info));
  works({first.executable()});
  EXPECT_NE(cudaGraphExecUpdate(first.executable(), other.get(), &info), cudaSuccess);
  cudaGetLastError();
  works({first.executable(), other.executable(), same.executable(), clone.executable()});
}

TEST_F(captured_on_cuda, gates_of_graphs_that_are_gone_are_used_again) {
  // Far more captures than gates; each graph replays while the next is captured.
  cuda_graph before;
  for (int i = 0; i < 300; ++i) {
    cuda_graph now = capture(5'000);
    LULL_CUDA(cudaGraphLaunch(now.executable(), stream_.get()));
    before = std::move(now);
    if (i % 20 == 0) std::this_thread::sleep_for(20ms);
  }
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  EXPECT_EQ(side_->counts()[counted::not_captured], 0U);
  works({before.executable()});
}

TEST_F(captured_on_cuda, control_during_ten_thousand_replays_loses_nothing) {
  cuda_graph const a = capture(30'000, "a");
  cuda_graph const b = capture(10'000, "b");
  std::atomic<bool> controlled{false};
  std::thread controller{[&] {
    for (int round = 0; round < 24; ++round) {
      device_probe probe{executor_of(*side_), {300'000, 40, 200'000, 1}};
      job task = side_->submit(probe.task());
      task.pause();
      if (round % 3 == 0) {
        EXPECT_TRUE(side_->pause_all(long_enough));
        std::uint64_t const before = probe.ran();
        std::this_thread::sleep_for(1ms);
        EXPECT_EQ(probe.ran(), before);
        side_->resume_all();
      }
      task.resume();
      std::this_thread::sleep_for(std::chrono::milliseconds{round});
      if (round % 4 == 3) task.cancel();
      EXPECT_TRUE(task.wait(long_enough));
      EXPECT_EQ(task.progress().items, probe.ran());
      if (task.progress().state == job_state::finished) {
        EXPECT_STREQ(probe.wrong(), nullptr);
      }
    }
    controlled = true;
  }};
  int replays = 0;
  replay({a.executable(), b.executable()}, [&] { return ++replays > 10'000 && controlled; });
  controller.join();
  EXPECT_EQ(side_->mode(), runtime_mode::on) << log_;
}

TEST_F(captured_on_cuda, the_runtime_may_go_while_a_graph_is_replayed) {
  auto graph = std::make_unique<cuda_graph>(capture(50'000));
  auto probe = std::make_unique<device_probe>(executor_of(*side_), std::vector<std::uint64_t>{1u << 22});
  job task = side_->submit(probe->task());
  replay(
      {graph->executable()}, [] { return false; }, 200);
  for (int i = 0; i < 500; ++i) LULL_CUDA(cudaGraphLaunch(graph->executable(), stream_.get()));  // 100 ms of work
  task.cancel();
  ASSERT_TRUE(task.wait(long_enough));
  probe.reset();
  side_.reset();
  for (int i = 0; i < 500; ++i) LULL_CUDA(cudaGraphLaunch(graph->executable(), stream_.get()));
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  graph.reset();
  start();
  cuda_graph const next = capture(30'000);
  works({next.executable()});
}

TEST_F(captured_on_cuda, nothing_is_added_without_need) {
  auto const bare = [&] {
    LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 3; ++i) {
      trainer::wait_one_thread(stream_.get(), 1'000, nullptr);
      trainer::burst(stream_.get(), 132, 512, 400, nullptr);
    }
    return nodes(ended());
  }();
  EXPECT_EQ(bare, 6U);
  EXPECT_EQ(nodes(capture(1'000)), 15U);  // two edges and a worker a bubble
  start(runtime_mode::observe);
  EXPECT_EQ(nodes(capture(1'000)), 15U);  // and nothing in the worker's place
  start(runtime_mode::off);
  EXPECT_EQ(nodes(capture(1'000)), 6U);
}

TEST_F(captured_on_cuda, observed_replays_are_measured) {
  start(runtime_mode::observe);
  cuda_graph const graph = capture(50'000, "wait");
  replay(
      {graph.executable()}, [] { return false; }, 100);
  std::vector<bubble_report> found;
  for (int looks = 0; looks < 10'000 && found.size() < 300; ++looks) {
    for (auto& one : side_->take_bubbles()) found.push_back(one);
    std::this_thread::sleep_for(100us);
  }
  ASSERT_EQ(found.size(), 300U);
  for (bubble_report const& one : found) EXPECT_GE(one.length, 45us) << one.site;
}

TEST_F(captured_on_cuda, an_open_that_is_never_closed_ends_with_the_lease) {
  LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal));
  side_->open(stream_.get(), site{"open"});
  trainer::wait_one_thread(stream_.get(), 10'000, nullptr);
  cuda_graph const graph = ended();
  device_probe probe{executor_of(*side_), {1u << 22}};
  job task = side_->submit(probe.task());
  replay(
      {graph.executable()}, [] { return false; }, 2);  // comes back: a lease each
  task.cancel();
  ASSERT_TRUE(task.wait(long_enough));
}

TEST_F(captured_on_cuda, replays_and_plain_bubbles_share_a_job) {
  cuda_graph const graph = capture(30'000);
  device_probe probe{executor_of(*side_), {50'000, 1, 50'000}};
  job const task = side_->submit(probe.task());
  for (int i = 0; i < 20'000 && !is_over(task); ++i) {
    LULL_CUDA(cudaGraphLaunch(graph.executable(), stream_.get()));
    bubbles(stream_.get(), 30'000, "plain", 1);
    if (i % 16 == 0) LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  }
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  ASSERT_TRUE(task.wait(long_enough));
  EXPECT_STREQ(probe.wrong(), nullptr);
}

TEST_F(captured_on_cuda, the_shape_of_nccl_finds_room_in_a_graph) {
  LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 20; ++i) {
    bubble const idle{*side_, stream_.get(), site{"nccl"}};
    trainer::wait_nccl_shape(stream_.get(), 100'000, nullptr);
  }
  cuda_graph const graph = ended();
  device_probe probe{executor_of(*side_), {1u << 22}};
  job task = side_->submit(probe.task());
  std::uint64_t lease_blocks = 0;
  std::uint64_t worked = 0;
  for (int rounds = 0; rounds < 100 && worked < 20 * 100; ++rounds) {
    replay(
        {graph.executable()}, [] { return false; }, 5);
    std::this_thread::sleep_for(10ms);
    for (bubble_report const& one : side_->take_bubbles()) {
      lease_blocks += one.record().lease_blocks;
      worked += one.record().blocks;
    }
  }
  EXPECT_EQ(lease_blocks, 0U);
  EXPECT_GT(worked, 0U);
  task.cancel();
  ASSERT_TRUE(task.wait(long_enough));
}

}  // namespace
}  // namespace lull
