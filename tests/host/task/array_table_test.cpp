// SPDX-License-Identifier: Apache-2.0
// The table of a task's arrays: what one naming of an array gives.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/task/array_table.hpp>

namespace lull {
namespace {

struct two_words {
  using element = std::uint32_t;
  std::uint32_t of[2];
};

struct pointers {
  std::uint64_t const* offsets = nullptr;
  float* ranks = nullptr;
  two_words* sums = nullptr;
};

void add_arrays(array_table& table, pointers& to, std::span<std::uint64_t const> offsets) {
  table.input(to.offsets, 4, offsets);
  table.kept(to.ranks, "ranks", {2, 3});
  table.cleared(to.sums, "sums", {5});
}

class array_tables : public testing::Test {
 protected:
  std::vector<std::uint64_t> const offsets_{7, 8, 9};
  std::unique_ptr<executor> const machine_ = make_executor({.kind = executor_kind::threads});
};

TEST_F(array_tables, only_counts_without_a_machine) {
  array_table counted;
  pointers to;
  add_arrays(counted, to, {});
  EXPECT_TRUE(counted.only_counts());
  EXPECT_EQ(counted.bytes(), 4U * 8 + 6 * 4 + 5 * 8);
  EXPECT_EQ(to.offsets, nullptr);
  EXPECT_EQ(to.sums, nullptr);
  EXPECT_TRUE(counted.written().empty());
}

TEST_F(array_tables, takes_what_it_counts) {
  std::uint64_t const before = machine_->taken_bytes().now;
  array_table table{*machine_};
  pointers to;
  add_arrays(table, to, offsets_);
  EXPECT_EQ(machine_->taken_bytes().now - before, table.bytes());
  EXPECT_EQ(table.read(to.offsets), (std::vector<std::uint64_t>{7, 8, 9, 0}));
  EXPECT_EQ(table.size(to.sums), 5U);
}

TEST_F(array_tables, lists_what_a_run_writes_and_no_input) {
  array_table table{*machine_};
  pointers to;
  add_arrays(table, to, offsets_);
  std::vector<task_array> const written = table.written();
  ASSERT_EQ(written.size(), 2U);
  EXPECT_EQ(written[0].array, (tensor_info{"ranks", tensor_type::f32, {2, 3}}));
  EXPECT_EQ(written[0].memory, to.ranks);
  EXPECT_EQ(written[1].array, (tensor_info{"sums", tensor_type::u32, {5, 2}}));
  EXPECT_EQ(written[1].memory, to.sums);
}

TEST_F(array_tables, clears_what_it_should_clear_alone) {
  array_table table{*machine_};
  pointers to;
  add_arrays(table, to, offsets_);
  std::vector<float> const ranks{1, 2, 3, 4, 5, 6};
  std::vector<two_words> const sums(5, two_words{{1, 2}});
  table.write(to.ranks, std::span{ranks});
  table.write(to.sums, std::span{sums});
  table.reset();
  EXPECT_EQ(table.read(to.ranks), ranks);
  for (two_words const& each : table.read(to.sums)) EXPECT_EQ(each.of[0] + each.of[1], 0U);
  EXPECT_EQ(table.read(to.offsets).front(), 7U);
}

TEST_F(array_tables, is_still_there_after_a_move) {
  array_table table{*machine_};
  pointers to;
  add_arrays(table, to, offsets_);
  array_table const moved = std::move(table);
  EXPECT_EQ(moved.written().front().memory, to.ranks);
  EXPECT_EQ(moved.read(to.offsets).front(), 7U);
}

TEST_F(array_tables, refuses_an_array_of_another) {
  array_table table{*machine_};
  float other = 0;
  EXPECT_THROW(table.read(&other), usage_error);
}

}  // namespace
}  // namespace lull
