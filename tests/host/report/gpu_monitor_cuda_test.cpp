// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <lull/host/report/gpu_monitor.hpp>

namespace lull {
namespace {

// The tests declare NVML's functions themselves; only a real driver shows whether that is right.
TEST(gpu_monitor_cuda, a_real_driver_tells_clocks_and_power) {
  gpu_monitor const monitor;
  if (!monitor.available()) GTEST_SKIP() << "not run: no NVML or no GPU on this machine";
  gpu_description const gpu = monitor.describe().value();
  EXPECT_FALSE(gpu.name.value_or("").empty());
  EXPECT_FALSE(gpu.driver.value_or("").empty());
  EXPECT_GT(gpu.sm_max_mhz.value_or(0), 100);
  EXPECT_GT(gpu.state.sm_mhz.value_or(0), 100);
  EXPECT_LE(gpu.state.sm_mhz.value_or(0), gpu.sm_max_mhz.value_or(0));
  EXPECT_GT(gpu.state.memory_mhz.value_or(0), 100);
  EXPECT_GT(gpu.state.power_w.value_or(0), 1);
  EXPECT_GT(gpu.power_limit_w.value_or(0), 10);
  EXPECT_TRUE(gpu.state.power_capped.has_value());
}

}  // namespace
}  // namespace lull
