// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/measure/gpu_samples.hpp>

namespace lull {
namespace {

TEST(gpu_samples, are_summarised_field_by_field) {
  std::vector<gpu_state> const samples{
      {.sm_mhz = 1700, .memory_mhz = {}, .power_w = 600, .temperature_c = {}, .power_capped = true},
      {.sm_mhz = 1500, .memory_mhz = {}, .power_w = 700, .temperature_c = 60, .power_capped = false},
      {.sm_mhz = 1600, .memory_mhz = {}, .power_w = {}, .temperature_c = {}, .power_capped = {}}};
  gpu_state const state = summarise(samples);
  EXPECT_EQ(state.sm_mhz, 1600);
  EXPECT_FALSE(state.memory_mhz);
  EXPECT_EQ(state.power_w, 650);
  EXPECT_EQ(state.temperature_c, 60);
  EXPECT_EQ(state.power_capped, true);
  EXPECT_EQ(summarise(std::span<gpu_state const>{}), gpu_state{});
}

}  // namespace
}  // namespace lull
