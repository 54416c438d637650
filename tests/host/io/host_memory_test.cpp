// SPDX-License-Identifier: Apache-2.0
// Free memory by a computer's files, which the test writes into a folder.
#include <lull/host/io/host_memory.hpp>

#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

class host_memory : public testing::Test {
 protected:
  host_memory() { write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 100 kB\nMemAvailable: 1600 kB\n"); }

  void write(std::string const& name, std::string_view text) const {
    std::filesystem::create_directories((computer_.path() / name).parent_path());
    computer_.write(name, text);
  }
  free_memory found() const { return free_host_memory(computer_.path()); }

  test::test_folder const computer_;
};

TEST_F(host_memory, is_what_linux_calls_available_less_a_sixteenth) {
  EXPECT_EQ(found().bytes, 1500U * 1024);
  EXPECT_EQ(found().where, "this computer");
}

TEST_F(host_memory, has_no_limit_where_linux_tells_nothing) {
  test::test_folder const none;
  EXPECT_GT(free_host_memory(none.path()).bytes, std::numeric_limits<std::uint64_t>::max() / 2);
}

TEST_F(host_memory, is_no_more_than_a_control_group_allows) {
  write("proc/self/cgroup", "0::/jobs/mine\n");
  write("sys/fs/cgroup/jobs/mine/memory.max", "max\n");
  write("sys/fs/cgroup/jobs/memory.max", "1000000\n");
  write("sys/fs/cgroup/jobs/memory.current", "680000\n");
  EXPECT_EQ(found().bytes, 300'000U);
  EXPECT_EQ(found().where, "the control group /jobs");
  // The kernel drops files before it kills.
  write("sys/fs/cgroup/jobs/memory.stat", "anon 600000\nfile 9\ninactive_file 60000\nactive_file 20000\n");
  EXPECT_EQ(found().bytes, 375'000U);
  write("sys/fs/cgroup/jobs/memory.current", "1200000\n");
  EXPECT_EQ(found().bytes, 0U);
}

TEST_F(host_memory, is_no_more_than_a_control_group_of_version_1_allows) {
  write("proc/self/cgroup", "9:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "500000\n");  // a container sees its own group as the root
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "420000\n");
  write("sys/fs/cgroup/memory/memory.stat", "cache 1\ntotal_inactive_file 60000\ntotal_active_file 20000\n");
  EXPECT_EQ(found().bytes, 150'000U);
  EXPECT_EQ(found().where, "the control group /");
  write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "16\n");
  EXPECT_EQ(found().where, "the control group /docker/abc");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(found().where, "this computer");
}

TEST_F(host_memory, of_this_computer_is_some) {
  free_memory const now = free_host_memory();
  EXPECT_GT(now.bytes, 0U);
  EXPECT_LT(now.bytes, std::uint64_t{1} << 60) << now.where;
}

TEST_F(host_memory, is_required_with_both_figures) {
  free_memory const some{std::uint64_t{3} << 29, "this computer"};
  EXPECT_NO_THROW(require_host_memory(some.bytes, "web.el", "", some));
  try {
    require_host_memory(std::uint64_t{5} << 30, "web.el", "take a smaller graph", some);
    FAIL();
  } catch (limit_error const& refused) {
    EXPECT_STREQ(refused.what(),
                 "web.el needs about 5.0 GiB of memory, and this computer has 1.5 GiB free: take a smaller graph");
  }
}

TEST_F(host_memory, of_a_file_is_what_was_free_before_it_was_read) {
  file_memory const one{"web.el", "take a smaller graph", free_memory{std::uint64_t{3} << 29, "this computer"}};
  EXPECT_NO_THROW(one.require(std::uint64_t{3} << 29));
  EXPECT_THROW(one.require((std::uint64_t{3} << 29) + 1), limit_error);
  file_memory const now{"web.el", ""};
  EXPECT_NO_THROW(now.require(1));
  EXPECT_THROW(now.require(std::uint64_t{1} << 60), limit_error);
}

TEST_F(host_memory, is_written_in_units) {
  EXPECT_EQ(bytes_text(999), "999 bytes");
  EXPECT_EQ(bytes_text(1000), "1.0 KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{3} << 19), "1.5 MiB");
  EXPECT_EQ(bytes_text(~std::uint64_t{0}), "16.0 EiB");
}

}  // namespace
}  // namespace lull
