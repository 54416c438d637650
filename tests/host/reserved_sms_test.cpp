// SPDX-License-Identifier: Apache-2.0
// From the shape of a kernel to the reserved groups that it needs.
#include <string>

#include <gtest/gtest.h>

#include <lull/host/reserved_sms.hpp>

namespace lull {
namespace {

constexpr sm_capacity h200{
    .threads = 2048, .blocks = 32, .registers = 65536, .shared_bytes = 228 * 1024, .reserved_shared_bytes = 1024};
constexpr kernel_shape nccl{.blocks = 16, .threads = 640, .cluster = 4, .registers = 96, .shared_bytes = 104 * 1024};

constexpr kernel_shape with(kernel_shape shape, std::uint32_t kernel_shape::*member, std::uint32_t value) {
  shape.*member = value;
  return shape;
}

TEST(exchange_need, the_kernel_of_nccl_takes_sixteen_whole_sms_in_two_rooms) {
  EXPECT_EQ(blocks_an_sm(nccl, h200), 1U);  // its registers
  EXPECT_EQ(reserved_groups_for(nccl, h200), 2);
  EXPECT_EQ(reserved_groups_for(with(nccl, &kernel_shape::blocks, 32), h200), 4);
  EXPECT_EQ(reserved_groups_for(with(nccl, &kernel_shape::blocks, 17), h200), 3);
  EXPECT_EQ(reserved_groups_for(with(nccl, &kernel_shape::blocks, 1), h200), 1);
}

TEST(exchange_need, each_resource_of_an_sm_can_be_the_one_that_is_short) {
  constexpr kernel_shape small{.blocks = 64, .threads = 64, .cluster = 1, .registers = 16, .shared_bytes = 0};
  EXPECT_EQ(blocks_an_sm(small, h200), 32U);
  EXPECT_EQ(blocks_an_sm(with(small, &kernel_shape::threads, 1024), h200), 2U);
  EXPECT_EQ(blocks_an_sm(with(small, &kernel_shape::shared_bytes, 113 * 1024), h200), 2U);
  EXPECT_EQ(blocks_an_sm(with(small, &kernel_shape::shared_bytes, 114 * 1024), h200), 1U);  // what the system reserves
  EXPECT_EQ(blocks_an_sm({.blocks = 1, .threads = 512, .registers = 64}, h200), 2U);
  EXPECT_EQ(blocks_an_sm({.blocks = 1, .threads = 512, .registers = 65}, h200), 1U);  // 8 a thread at a time
  EXPECT_EQ(blocks_an_sm({.blocks = 1, .threads = 33, .registers = 255}, h200), 4U);  // whole warps
}

TEST(exchange_need, a_cluster_lies_within_a_room) {
  constexpr kernel_shape fat{.blocks = 12, .threads = 1024, .cluster = 6, .registers = 64, .shared_bytes = 0};
  EXPECT_EQ(reserved_groups_for(fat, h200), 2);                                   // 2 SMs of each stay empty
  EXPECT_EQ(reserved_groups_for(with(fat, &kernel_shape::cluster, 1), h200), 2);  // 12 SMs
  EXPECT_EQ(reserved_groups_for(with(fat, &kernel_shape::cluster, 8), h200), 2);  // the second cluster is not full
  EXPECT_THROW(reserved_groups_for(with(fat, &kernel_shape::cluster, 16), h200), usage_error);
  EXPECT_EQ(reserved_groups_for(with(fat, &kernel_shape::cluster, 0), h200), 2);  // no cluster at all
}

TEST(exchange_need, what_fits_no_sm_is_said) {
  EXPECT_THROW(reserved_groups_for({.blocks = 1, .threads = 1024, .registers = 255}, h200), usage_error);
  EXPECT_THROW(reserved_groups_for({}, h200), usage_error);
}

TEST(exchange_need, without_a_device_the_reason_is_given) {
  std::string const why = why_no_cuda(0);
  if (why.empty()) GTEST_SKIP() << "a device answers here";
  try {
    measure_reserved_groups(0, [](stream_handle) { FAIL() << "nothing is captured"; });
    FAIL() << "it did not throw";
  } catch (usage_error const& problem) {
    EXPECT_EQ(problem.what(), why);
  }
}

}  // namespace
}  // namespace lull
