// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/cuda_graph/graph_task.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/host/cuda/device_probe.hpp>
#include <lull/tests/host/cuda_graph/node_kernels.hpp>

namespace lull::test {

/// Returns what `capture` enqueues as a graph.
template <class Capture>
cuda_graph captured(Capture const& capture) {
  cuda_stream const stream{0};
  cudaGraph_t made = nullptr;
  LULL_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed));
  capture(stream.get());
  LULL_CUDA(cudaStreamEndCapture(stream.get(), &made));
  return cuda_graph{made};
}

/// A step on two streams: a copy, a memset, and kernels whose order shows in what they leave.
class counted_step {
 public:
  static constexpr std::uint32_t count = 50'000;
  static constexpr std::uint32_t pairs = 12;

  counted_step(executor& executor, std::uint64_t node_ns)
      : x_(executor, count),
        y_(executor, count),
        z_(executor, count),
        ones_(executor, std::vector<std::uint32_t>(count, 1)) {
    std::vector<std::uint32_t> first(count);
    std::iota(first.begin(), first.end(), 7U);
    x_.write(first);
    expected_ = first;
    graph_.emplace(captured([&](cudaStream_t stream) {
      cuda_stream const beside{0};
      cuda_event const forked;
      cuda_event const joined;
      LULL_CUDA(cudaMemcpyAsync(y_.data(), x_.data(), x_.bytes(), cudaMemcpyDeviceToDevice, stream));
      LULL_CUDA(cudaMemsetAsync(z_.data(), 5, z_.bytes(), stream));
      LULL_CUDA(cudaEventRecord(forked.get(), stream));
      LULL_CUDA(cudaStreamWaitEvent(beside.get(), forked.get()));
      for (std::uint32_t node = 0; node < pairs; ++node) {
        apply_node(stream, x_.data(), ones_.data(), count, node, node_ns);
        apply_node(beside.get(), z_.data(), y_.data(), count, 100 + node, node_ns);
      }
      LULL_CUDA(cudaEventRecord(joined.get(), beside.get()));
      LULL_CUDA(cudaStreamWaitEvent(stream, joined.get()));
      apply_node(stream, x_.data(), z_.data(), count, 1'000, node_ns);
    }));
  }

  cudaGraph_t graph() const { return graph_->get(); }
  static constexpr std::uint32_t nodes = 3 + 2 * pairs;

  /// Returns the array after so many more steps.
  std::vector<std::uint32_t> const& expect(std::uint64_t steps) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      for (std::uint32_t& x : expected_) {
        std::uint32_t z = 0x05050505;
        std::uint32_t const y = x;
        for (std::uint32_t node = 0; node < pairs; ++node) {
          x = applied_node(x, 1, node);
          z = applied_node(z, y, 100 + node);
        }
        x = applied_node(x, z, 1'000);
      }
    }
    return expected_;
  }
  std::vector<std::uint32_t> found() const { return x_.read(); }

 private:
  device_array<std::uint32_t> x_;
  device_array<std::uint32_t> y_;
  device_array<std::uint32_t> z_;
  device_array<std::uint32_t> ones_;
  std::vector<std::uint32_t> expected_;
  std::optional<cuda_graph> graph_;
};

class graph_as_side_work : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    trainer::load();
    stream_ = cuda_stream{0};
    side_ = std::make_unique<runtime>(runtime_options{.executor = {.kind = executor_kind::cuda},
                                                      .tasks = {type_of<probe_task>()},
                                                      .log = [](std::string_view line) { ADD_FAILURE() << line; },
                                                      .tuning = {.training_worth = 0}});
  }

  lull::executor& executor() { return executor_of(*side_); }
  static void await_placed(job const& work) {
    auto const give_up = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (work.progress().state != job_state::placed && std::chrono::steady_clock::now() < give_up) {
    }
    ASSERT_EQ(work.progress().state, job_state::placed);
  }
  void one_bubble(std::uint64_t ns) {
    bubble const idle{*side_, stream_.get(), site{"wait"}};
    trainer::wait_one_thread(stream_.get(), ns, nullptr);
  }
  /// Opens bubbles of changing length until `done`, or for 20 s. The host is at most `ahead` bubbles in front of the
  /// device.
  template <class Done>
  void train_until(Done const& done, std::uint64_t ns = 60'000, std::uint64_t ahead = 16) {
    auto const give_up = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    for (std::uint64_t i = 0; !done() && std::chrono::steady_clock::now() < give_up; ++i) {
      one_bubble(ns + i * 7'919 % ns);
      trainer::burst(stream_.get(), 132, 512, 100, nullptr);
      if (i % ahead == 0) LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    }
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    ASSERT_TRUE(done());
  }
  void train(job const& work, std::uint64_t ns = 60'000, std::uint64_t ahead = 16) {
    train_until([&] { return work.wait(std::chrono::nanoseconds{0}); }, ns, ahead);
  }
  void refused(graph_task const& work, std::string_view says) {
    try {
      submit(*side_, work);
      FAIL() << "nothing was refused";
    } catch (error const& error) {
      EXPECT_NE(std::string_view{error.what()}.find(says), std::string_view::npos) << error.what();
    }
  }

  cuda_stream stream_;
  std::unique_ptr<runtime> side_;
};

}  // namespace lull::test
