// SPDX-License-Identifier: Apache-2.0
// Bubbles that a peer closes early, on a device: the trainer's stream waits far longer than the bubble then lasts. The
// peer is another stream here; tests/bench's pipelines have it in another process, on another GPU.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/apps/lull/trainer/kernels.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/early_close.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tasks/synthetic.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t wait_ns = 200'000'000;
constexpr std::uint64_t peer_after_ns = 60'000'000;  // a lease is four times as long

class early_close_on_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    trainer::load();
    trainer_ = cuda_stream{0};
    peer_ = cuda_stream{0};
    side_ = std::make_unique<runtime>(runtime_options{.machine = {.kind = executor_kind::cuda},
                                                      .tasks = {type_of<compute_task>()},
                                                      .log = [](std::string_view line) { ADD_FAILURE() << line; }});
    void* sink = side_->machine().allocate(64);
    job_ = side_->submit(compute_task{static_cast<float*>(sink), 1U << 30, 1U << 30, 2'000}, "endless");
    while (!side_->ready(trainer_.get())) std::this_thread::yield();
  }

  void step() {
    bubble const idle{*side_, trainer_.get(), site{"recv"}};
    trainer::wait_one_thread(trainer_.get(), wait_ns, nullptr);
  }
  void close_it(early_close const& early) {
    trainer::wait_one_thread(peer_.get(), peer_after_ns, nullptr);
    early.send(peer_.get());
  }
  template <class Work>
  static cuda_graph captured(cudaStream_t stream, Work work) {
    LULL_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    work();
    cudaGraph_t graph{};
    LULL_CUDA(cudaStreamEndCapture(stream, &graph));
    return cuda_graph{graph};
  }
  void expect_worked(bool closes_early) {
    LULL_CUDA(cudaDeviceSynchronize());
    std::vector<bubble_report> found;
    for (int i = 0; i < 2'000 && found.empty(); ++i) {
      std::this_thread::sleep_for(1ms);
      found = side_->take_bubbles();
    }
    ASSERT_EQ(found.size(), 1U);
    bubble_record const& record = found.front().record();
    EXPECT_GT(record.blocks, 0U);
    EXPECT_EQ(record.lease_blocks, 0U);
    EXPECT_EQ(record.last_out_ns - record.opened_ns < wait_ns / 2, closes_early);
  }

  cuda_stream trainer_;
  cuda_stream peer_;
  std::unique_ptr<runtime> side_;
  job job_;
};

TEST_F(early_close_on_cuda, ends_the_bubble_that_is_open_and_not_the_next_one) {
  early_close const early{side_->early_close_of(site{"recv"})};
  for (bool const closes_early : {true, false, true}) {
    step();
    if (closes_early) close_it(early);
    expect_worked(closes_early);
  }
}

TEST_F(early_close_on_cuda, works_in_replayed_graphs_of_both_sides) {
  early_close const early{side_->early_close_of(site{"recv"})};
  cuda_graph const waits = captured(trainer_.get(), [&] { step(); });
  cuda_graph const closes = captured(peer_.get(), [&] { close_it(early); });
  std::this_thread::sleep_for(100ms);  // the job reaches the graph's slots
  for (bool const closes_early : {true, false, true}) {
    LULL_CUDA(cudaGraphLaunch(waits.executable(), trainer_.get()));
    if (closes_early) LULL_CUDA(cudaGraphLaunch(closes.executable(), peer_.get()));
    expect_worked(closes_early);
  }
}

TEST_F(early_close_on_cuda, may_come_when_its_runtime_is_gone) {
  early_close const early{side_->early_close_of(site{"recv"})};
  side_.reset();
  early.send(peer_.get());
  EXPECT_EQ(cudaStreamSynchronize(peer_.get()), cudaSuccess);
}

}  // namespace
}  // namespace lull
