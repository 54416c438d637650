// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <lull/apps/lull/machine.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

TEST(Machine, HostIsReadFromProcAndEtc) {
  fs::path const root = fs::path(testing::TempDir()) / ("lull_machine_test_" + std::to_string(::getpid()));
  fs::create_directories(root / "proc");
  fs::create_directories(root / "etc");
  std::ofstream(root / "proc/cpuinfo") << "processor\t: 0\nmodel name\t: Example CPU @ 2.0 GHz\nflags\t: a b\n"
                                       << "processor\t: 1\nmodel name\t: Another\n";
  std::ofstream(root / "etc/os-release") << "NAME=\"Example\"\nPRETTY_NAME=\"Example OS 12\"\n";
  machine_description const machine = describe_host(root);
  fs::remove_all(root);
  EXPECT_EQ(machine.cpu, "Example CPU @ 2.0 GHz");
  EXPECT_EQ(machine.os, "Example OS 12");
  EXPECT_GE(machine.cpus.value_or(0), 1u);
  EXPECT_GE(machine.usable_cpus.value_or(0), 1u);
  EXPECT_GT(machine.memory_bytes.value_or(0), 1u << 20);
  EXPECT_EQ(machine.kernel.value_or("").rfind("Linux ", 0), 0u);
  EXPECT_FALSE(machine.gpu);
}

TEST(Machine, WhatCannotBeReadIsNothing) {
  machine_description const machine = describe_host("/nonexistent");
  EXPECT_FALSE(machine.cpu);
  EXPECT_FALSE(machine.os);
}

TEST(Machine, NoLibraryNoGpu) {
  gpu_monitor const monitor("", "/nonexistent/libnvidia-ml.so.1");
  EXPECT_FALSE(monitor.available());
  EXPECT_FALSE(monitor.describe());
  EXPECT_EQ(monitor.sample(), gpu_state{});
}

TEST(Machine, AnyOtherLibraryIsNoGpu) {
  gpu_monitor const monitor("", "libc.so.6");
  EXPECT_FALSE(monitor.available());
}

TEST(Machine, ClocksAndPowerThroughTheLibrary) {
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

TEST(Machine, TheLibraryIsShutDownAlsoAfterAFailure) {
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

TEST(Machine, SamplesAreSummarisedFieldByField) {
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
