// SPDX-License-Identifier: Apache-2.0
// Runs of a task are compared by their arrays.
#include <memory>

#include <gtest/gtest.h>

#include <lull/host/contract/compared_arrays.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tests/host/contract/probe_owner.hpp>

namespace lull {
namespace {

class arrays : public testing::Test {
 protected:
  arrays() { owner_.prepare(*executor_); }

  std::unique_ptr<executor> const executor_ = make_executor({.kind = executor_kind::threads, .processors = 2});
  probe_owner owner_;
};

TEST_F(arrays, differ_by_name_and_byte) {
  compared_arrays const all{owner_, *executor_};
  auto expected = all.read();
  EXPECT_EQ(all.difference(expected), "");
  expected[1][9] ^= 4;
  EXPECT_EQ(all.difference(expected), "array 'runs' differs from the first run's at byte 9");
}

TEST_F(arrays, that_a_run_wrote_are_poisoned) {
  compared_arrays const all{owner_, *executor_};
  auto const before = all.read();
  run_to_end(owner_, *executor_);
  auto const after = all.read();
  all.poison(before, after, 0x1a5);
  auto const poisoned = all.read();
  ASSERT_EQ(poisoned.size(), 4U);
  EXPECT_EQ(poisoned[0], std::vector<unsigned char>(after[0].size(), 0xa5));
  EXPECT_EQ(poisoned[2], before[2]);  // errors: there was none
  EXPECT_EQ(all.count(), 4U);
  EXPECT_EQ(all.bytes(), after[0].size() + after[1].size() + after[2].size() + after[3].size());
}

TEST_F(arrays, of_another_owner_are_written_where_they_fit) {
  compared_arrays const first{owner_, *executor_};
  run_to_end(owner_, *executor_);
  compared_arrays::contents const saved = first.read();
  probe_owner second;
  second.prepare(*executor_);
  compared_arrays const all{second, *executor_};
  ASSERT_TRUE(all.fit(saved));
  all.write(saved);
  EXPECT_EQ(all.difference(saved), "");
  EXPECT_TRUE(second.verify().ok);
  compared_arrays::contents cut = saved;
  cut[1].pop_back();
  EXPECT_FALSE(all.fit(cut));
  cut.pop_back();
  EXPECT_FALSE(all.fit(cut));
}

}  // namespace
}  // namespace lull
