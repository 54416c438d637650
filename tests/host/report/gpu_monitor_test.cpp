// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include <lull/host/detail/runtime/gpu_watch.hpp>
#include <lull/host/report/gpu_monitor.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

TEST(gpu_monitor, no_library_no_gpu) {
  gpu_monitor const monitor("", "/nonexistent/libnvidia-ml.so.1");
  EXPECT_FALSE(monitor.available());
  EXPECT_FALSE(monitor.describe());
  EXPECT_EQ(monitor.sample(), gpu_state{});
}

TEST(gpu_monitor, any_other_library_is_no_gpu) {
  gpu_monitor const monitor("", "libc.so.6");
  EXPECT_FALSE(monitor.available());
}

TEST(gpu_monitor, clocks_and_power_through_the_library) {
  for (std::string const bus_id : {"", "0000:1B:00.0"}) {
    gpu_monitor const monitor(bus_id, LULL_FAKE_NVML);
    ASSERT_TRUE(monitor.available()) << bus_id;
    gpu_description const gpu = monitor.describe().value();
    EXPECT_EQ(gpu.name, "Example GPU");
    EXPECT_EQ(gpu.driver, "580.159");
    EXPECT_EQ(gpu.sm_max_mhz, 1980);
    EXPECT_EQ(gpu.memory_max_mhz, 3201);
    EXPECT_EQ(gpu.power_limit_w, 700);
    EXPECT_EQ(gpu.state.sm_mhz, 1700);
    EXPECT_EQ(gpu.state.power_w, 699.5);
    EXPECT_EQ(gpu.state.power_capped, true);
    EXPECT_FALSE(gpu.state.memory_mhz);     // the library says no
    EXPECT_FALSE(gpu.state.temperature_c);  // the library has no such function
  }
}

TEST(gpu_monitor, the_library_is_shut_down_also_after_a_failure) {
  void* const library = ::dlopen(LULL_FAKE_NVML, RTLD_NOW);
  ASSERT_NE(library, nullptr) << ::dlerror();
  auto const open_count = reinterpret_cast<int (*)()>(::dlsym(library, "fake_nvml_open_count"));
  ASSERT_NE(open_count, nullptr);
  {
    gpu_monitor const monitor("", LULL_FAKE_NVML);
    EXPECT_EQ(open_count(), 1);
    gpu_monitor const unknown("0000:FF:00.0", LULL_FAKE_NVML);
    EXPECT_FALSE(unknown.available());
    EXPECT_EQ(open_count(), 1);
  }
  EXPECT_EQ(open_count(), 0);
  ::dlclose(library);
}

TEST(gpu_summary, each_figure_is_over_the_samples_that_have_it) {
  gpu_summary sum;
  sum.add({.sm_mhz = 1700, .memory_mhz = {}, .power_w = 600, .temperature_c = {}, .power_capped = true});
  sum.add({.sm_mhz = 1500, .memory_mhz = {}, .power_w = {}, .temperature_c = {}, .power_capped = false});
  sum.add({});
  EXPECT_EQ(sum.samples, 3u);
  EXPECT_EQ(sum.sm_mhz.samples(), 2u);
  EXPECT_EQ(sum.sm_mhz.least(), 1500);
  EXPECT_EQ(sum.sm_mhz.mean(), 1600);
  EXPECT_EQ(sum.sm_mhz.most(), 1700);
  EXPECT_EQ(sum.power_w.mean(), 600);
  EXPECT_EQ(sum.temperature_c.samples(), 0u);
  EXPECT_EQ(sum.power_capped.mean(), 0.5);
}

TEST(gpu_watch, samples_until_it_ends) {
  detail::gpu_watch const watch{"0000:1B:00.0", LULL_FAKE_NVML, 1ms};
  await_that([&] { return watch.so_far().samples >= 3; });
  gpu_summary const told = watch.so_far();
  EXPECT_EQ(told.power_limit_w, 700);
  EXPECT_EQ(told.sm_mhz.samples(), told.samples);
  EXPECT_EQ(told.sm_mhz.most(), 1700);
  EXPECT_EQ(told.temperature_c.samples(), 0u);
}

TEST(gpu_watch, its_end_does_not_wait_for_the_next_sample) {
  auto const begin = std::chrono::steady_clock::now();
  {
    detail::gpu_watch const watch{"", LULL_FAKE_NVML, 1h};
    await_that([&] { return watch.so_far().samples != 0; });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10min);
}

/// As with a lost GPU.
TEST(gpu_watch, its_end_does_not_wait_for_a_call_that_hangs) {
  ::setenv("FAKE_NVML_HANGS", "1", 1);
  auto const begin = std::chrono::steady_clock::now();
  {
    detail::gpu_watch const watch{"", LULL_FAKE_NVML};
    std::this_thread::sleep_for(100ms);  // until it hangs; if not yet, there is nothing to wait for
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
  ::unsetenv("FAKE_NVML_HANGS");
}

TEST(gpu_watch, without_the_library_there_are_no_samples) {
  detail::gpu_watch const watch{"", "/nonexistent/libnvidia-ml.so.1", 1us};
  EXPECT_EQ(watch.so_far().samples, 0u);
}

}  // namespace
}  // namespace lull
