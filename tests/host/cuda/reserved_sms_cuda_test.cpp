// SPDX-License-Identifier: Apache-2.0
// Rooms from the launches of a trainer's exchange, on a real device.
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/lull.h>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/reserved_sms.hpp>

namespace lull {
namespace {

class reserved_groups_on_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    trainer::load();
  }
  static void nccl_shape(stream_handle stream) {
    trainer::wait_nccl_shape(static_cast<cudaStream_t>(stream), 1'000, nullptr);
  }
};

TEST_F(reserved_groups_on_cuda, the_shape_of_nccl_needs_two_rooms_for_each_that_is_resident) {
  exchange_need const one = measure_reserved_groups(0, nccl_shape);
  EXPECT_EQ(one.largest.blocks, 16U) << one.text;
  EXPECT_EQ(one.largest.threads, 640U) << one.text;
  EXPECT_EQ(one.largest.cluster, 4U) << one.text;
  EXPECT_GE(one.largest.shared_bytes, 104U * 1024) << one.text;
  EXPECT_GE(one.largest.registers, 78U) << one.text;
  EXPECT_EQ(one.kernels, 1U);
  EXPECT_EQ(one.reserved_groups, 2) << one.text;
  EXPECT_EQ(measure_reserved_groups(0, nccl_shape, 2).reserved_groups, 4);
}

TEST_F(reserved_groups_on_cuda, the_largest_counts_and_graphs_in_graphs_are_searched) {
  cuda_stream const other{0};
  LULL_CUDA(cudaStreamBeginCapture(other.get(), cudaStreamCaptureModeRelaxed));
  nccl_shape(other.get());
  cudaGraph_t inner{};
  LULL_CUDA(cudaStreamEndCapture(other.get(), &inner));
  exchange_need const need = measure_reserved_groups(0, [&](stream_handle handle) {
    auto* const stream = static_cast<cudaStream_t>(handle);
    trainer::burst(stream, 4, 32, 1, nullptr);
    cudaStreamCaptureStatus status{};
    cudaGraph_t graph{};
    cudaGraphNode_t const* behind = nullptr;
    std::size_t count = 0;
    LULL_CUDA(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &behind, nullptr, &count));
    cudaGraphNode_t child{};
    LULL_CUDA(cudaGraphAddChildGraphNode(&child, graph, behind, count, inner));
    LULL_CUDA(cudaStreamUpdateCaptureDependencies(stream, &child, nullptr, 1, cudaStreamSetCaptureDependencies));
  });
  LULL_CUDA(cudaGraphDestroy(inner));
  EXPECT_EQ(need.kernels, 2U);
  EXPECT_EQ(need.largest.cluster, 4U) << need.text;
  EXPECT_EQ(need.reserved_groups, 2) << need.text;
}

TEST_F(reserved_groups_on_cuda, nothing_runs_and_nothing_is_left_behind) {
  std::uint64_t* stamped = nullptr;
  LULL_CUDA(cudaMalloc(reinterpret_cast<void**>(&stamped), sizeof *stamped));
  LULL_CUDA(cudaMemset(stamped, 0, sizeof *stamped));
  exchange_need const need = measure_reserved_groups(
      0, [&](stream_handle stream) { trainer::stamp(static_cast<cudaStream_t>(stream), stamped); });
  EXPECT_EQ(need.reserved_groups, 1);
  std::uint64_t found = 1;
  LULL_CUDA(cudaMemcpy(&found, stamped, sizeof found, cudaMemcpyDeviceToHost));
  EXPECT_EQ(found, 0U);
  LULL_CUDA(cudaFree(stamped));

  EXPECT_EQ(measure_reserved_groups(0, [](stream_handle) {}).reserved_groups, 0);
  EXPECT_THROW(measure_reserved_groups(0, [](stream_handle) { throw std::runtime_error{"the exchange's own"}; }),
               std::runtime_error);
  EXPECT_THROW(measure_reserved_groups(0, nccl_shape, 0), usage_error);
  EXPECT_EQ(measure_reserved_groups(0, nccl_shape).reserved_groups, 2);  // the stream of the failed one is gone
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(reserved_groups_on_cuda, the_c_library_says_the_same) {
  std::int32_t returns = 0;
  lull_exchange const exchange = [](void* context, void* stream) {
    nccl_shape(stream);
    return *static_cast<std::int32_t*>(context);
  };
  lull_exchange_need need{};
  need.size = sizeof need;
  char text[256];
  std::size_t needed = 0;
  ASSERT_EQ(lull_measure_reserved_groups(0, exchange, &returns, 2, &need, text, sizeof text, &needed), LULL_OK)
      << lull_error_text();
  exchange_need const same = measure_reserved_groups(0, nccl_shape, 2);
  EXPECT_EQ(need.reserved_groups, same.reserved_groups);
  EXPECT_EQ(need.resident, 2);
  EXPECT_EQ(need.kernels, 1U);
  EXPECT_EQ((kernel_shape{need.blocks, need.threads, need.cluster, need.registers, need.shared_bytes}), same.largest)
      << text;
  EXPECT_EQ(text, same.text);
  EXPECT_EQ(needed, same.text.size() + 1);

  EXPECT_EQ(lull_measure_reserved_groups(0, exchange, &returns, 1, &need, text, 8, &needed), LULL_ERROR_SIZE);
  EXPECT_EQ(need.reserved_groups, 2);
  returns = 3;
  EXPECT_EQ(lull_measure_reserved_groups(0, exchange, &returns, 1, &need, text, sizeof text, nullptr),
            LULL_ERROR_EXCHANGE);
  EXPECT_STREQ(lull_error_text(),
               "lull_measure_reserved_groups: the exchange returned 3: no reserved groups were measured");
  EXPECT_EQ(need.reserved_groups, 0);
  lull_exchange const nothing = [](void*, void*) -> std::int32_t { return 0; };
  EXPECT_EQ(lull_measure_reserved_groups(0, nothing, nullptr, 1, &need, text, sizeof text, nullptr), LULL_OK)
      << lull_error_text();
  EXPECT_EQ(need.reserved_groups, -1);  // as lull_options::reserved groups spells none
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace lull
