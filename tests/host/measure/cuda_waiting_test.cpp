// SPDX-License-Identifier: Apache-2.0
// What a pending wait costs, measured on a real device: its form and its bounds, no times.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/cuda/owned.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/pending_chain.hpp>
#include <lull/host/measure/waiting_cost.hpp>

namespace lull {
namespace {

class waiting_on_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
  }
};

void is_a_range(waiting_range const& range) {
  EXPECT_GE(range.streams, 1U);
  for (double const us : {range.min_us, range.median_us, range.max_us}) EXPECT_TRUE(std::isfinite(us));
  EXPECT_LE(range.min_us, range.median_us);
  EXPECT_LE(range.median_us, range.max_us);
}

TEST_F(waiting_on_cuda, is_measured) {
  waiting_cost const cost = measure_waiting(0);
  ASSERT_EQ(cost.why_not, "");
  EXPECT_TRUE(std::isfinite(cost.base_us));
  EXPECT_GT(cost.base_us, 0);
  is_a_range(cost.one_wait);
  is_a_range(cost.two_waits);
}

TEST_F(waiting_on_cuda, leaves_the_device_as_it_was) {
  measure_waiting(0);
  int now = -1;
  LULL_CUDA(cudaGetDevice(&now));
  EXPECT_EQ(now, 0);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(waiting_on_cuda, waits_are_pending_until_the_chain_has_ended_and_no_longer) {
  cuda_stream const trainer{0};
  cuda_stream const other{0};
  pending_chain chain{20};
  bool pending = false;
  double const ns = chain.kernel_ns(trainer.get(), [&] {
    chain.wait_for_end(other.get());
    pending = cudaStreamQuery(trainer.get()) == cudaErrorNotReady && cudaStreamQuery(other.get()) == cudaErrorNotReady;
  });
  EXPECT_TRUE(pending);
  EXPECT_GT(ns, 0);
  EXPECT_EQ(cudaStreamQuery(other.get()), cudaSuccess);
}

TEST_F(waiting_on_cuda, ends_by_itself_where_the_host_waits_for_what_it_holds) {
  cuda_stream const trainer{0};
  cuda_stream const other{0};
  pending_chain chain{20};
  auto const blocks = [&] {
    chain.wait_for_end(other.get());
    LULL_CUDA(cudaStreamSynchronize(other.get()));
  };
  EXPECT_THROW(chain.kernel_ns(trainer.get(), blocks), limit_error);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

/// On any machine: a device that is not there is no error.
TEST(waiting_without_cuda, is_not_run_and_says_why) {
  waiting_cost const cost = measure_waiting(1'000'000);
  EXPECT_EQ(cost.why_not, "NOT RUN: " + why_no_cuda(1'000'000));
  EXPECT_EQ(cost.one_wait.streams, 0U);
}

}  // namespace
}  // namespace lull
