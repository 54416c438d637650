// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <lull/apps/lull/report/machine.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

TEST(block, host_is_read_from_proc_and_etc) {
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

TEST(block, what_cannot_be_read_is_nothing) {
  machine_description const machine = describe_host("/nonexistent");
  EXPECT_FALSE(machine.cpu);
  EXPECT_FALSE(machine.os);
}

}  // namespace
}  // namespace lull
