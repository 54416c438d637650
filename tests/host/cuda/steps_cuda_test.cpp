// SPDX-License-Identifier: Apache-2.0
// Training steps on a real device: how long they take, and that a withheld one has no side work.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class steps_on_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    trainer::load();
    stream_ = cuda_stream{0};
  }
  std::unique_ptr<runtime> make(double max_slowdown) const {
    return std::make_unique<runtime>(runtime_options{.executor = {.kind = executor_kind::cuda},
                                                     .max_slowdown = max_slowdown,
                                                     .tasks = {type_of<compute_task>()},
                                                     .log = [](std::string_view line) { ADD_FAILURE() << line; },
                                                     .tuning = {.training_worth = 0}});
  }
  static void await_timed(runtime const& side, std::uint64_t count) {
    ASSERT_TRUE(within_time([&] { return side.steps().report().timed >= count; }));
  }
  counted one_bubble(runtime& side) {
    bubble const idle{side, stream_.get(), site{"wait"}};
    wait(300'000);
    return idle.what();
  }
  void wait(std::uint64_t ns) { trainer::wait_one_thread(stream_.get(), ns, nullptr); }

  cuda_stream stream_;
};

TEST_F(steps_on_cuda, are_as_long_as_the_stream_took_and_a_capture_has_none) {
  auto const side = make(0);
  for (int step = 0; step < 6; ++step) {
    side->step(stream_.get());
    wait(2'000'000);
  }
  await_timed(*side, 5);
  EXPECT_GE(side->steps().report().total, 10ms);
  EXPECT_LE(side->steps().report().total, 12ms);
  LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal));
  side->step(stream_.get());
  wait(1'000);
  cudaGraph_t made = nullptr;
  LULL_CUDA(cudaStreamEndCapture(stream_.get(), &made));
  LULL_CUDA(cudaGraphDestroy(made));
  EXPECT_EQ(side->steps().report().begun, 6U);
  EXPECT_EQ(side->mode(), runtime_mode::on);
}

TEST_F(steps_on_cuda, that_are_withheld_have_no_side_work_and_the_others_tell_what_it_costs) {
  auto const side = make(1);  // a bound that nothing reaches
  device_array<float> sink{side->memory(), 1};
  job work = side->submit(compute_task{sink.data(), 1U << 30, 1U << 30, 2'000}, "endless");
  while (!side->ready(stream_.get())) one_bubble(*side);
  std::uint64_t const before = side->counts()[counted::withheld];
  std::uint64_t harvested = 0;
  for (int step = 0; step < 600; ++step) {
    side->step(stream_.get());
    harvested += one_bubble(*side) == counted::opened ? 1 : 0;
    trainer::burst(stream_.get(), 132, 512, 100, nullptr);
    if (step % 8 == 0) LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  }
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  await_timed(*side, 590);
  EXPECT_GT(harvested, 100U);
  EXPECT_EQ(side->counts()[counted::withheld] - before, 600 - harvested);
  EXPECT_EQ(side->steps().report().withheld, 600 - harvested);
  EXPECT_LE(side->counts()[counted::launches], harvested + side->counts()[counted::released]);
  ASSERT_TRUE(side->steps().report().slowdown);
  EXPECT_LT(side->steps().report().slowdown->estimate, 1);
  work.cancel();
  for (int i = 0; i < 1'000 && !work.wait(0ns); ++i) one_bubble(*side);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  EXPECT_TRUE(work.wait(10s));
}

TEST_F(steps_on_cuda, that_are_withheld_have_no_side_work_in_replays_either) {
  auto const side = make(1);
  LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
  one_bubble(*side);
  trainer::burst(stream_.get(), 132, 512, 100, nullptr);
  cudaGraph_t captured = nullptr;
  LULL_CUDA(cudaStreamEndCapture(stream_.get(), &captured));
  cuda_graph const graph{captured};
  device_array<float> sink{side->memory(), 1};
  job work = side->submit(compute_task{sink.data(), 1U << 30, 1U << 30, 2'000}, "endless");
  await_that([&] { return work.progress().state == job_state::placed; });
  std::this_thread::sleep_for(50ms);
  side->take_bubbles();
  std::vector<bool> withheld;
  for (int step = 0; step < 300; ++step) {
    std::uint64_t const before = side->steps().report().withheld;
    side->step(stream_.get());
    withheld.push_back(side->steps().report().withheld != before);
    LULL_CUDA(cudaGraphLaunch(graph.executable(), stream_.get()));
    if (step % 8 == 0) LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  }
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  std::vector<bubble_report> found;
  for (int looks = 0; looks < 1'000 && found.size() < withheld.size(); ++looks) {
    std::this_thread::sleep_for(5ms);
    for (bubble_report const& each : side->take_bubbles()) found.push_back(each);
  }
  ASSERT_EQ(found.size(), withheld.size());
  std::size_t harvested = 0;
  for (std::size_t step = 0; step < found.size(); ++step) {
    bool const has_run = found[step].record().items != 0;
    EXPECT_FALSE(has_run && withheld[step]) << step;
    harvested += has_run ? 1 : 0;
  }
  EXPECT_GT(harvested, 40U);
  work.cancel();
  for (int i = 0; i < 1'000 && !work.wait(0ns); ++i) LULL_CUDA(cudaGraphLaunch(graph.executable(), stream_.get()));
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  EXPECT_TRUE(work.wait(10s));
}

}  // namespace
}  // namespace lull
