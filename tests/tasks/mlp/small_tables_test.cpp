// SPDX-License-Identifier: Apache-2.0
// Tables of 150 to 5,000 rows, trained with the default options but for a narrower network, which is faster and harder.
#include <cmath>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/io/atomic_file.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/mlp/mlp_owner.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

class small_tables : public testing::Test {
 protected:
  std::unique_ptr<task_owner> owner(std::string const& rows, option_values values) {
    auto const path = folder_.path() / "rows.csv";
    write_file(path, rows);
    values.set("data", path.string());
    auto made = entry_.make(values);
    made->prepare(*executor_);
    return made;
  }

  std::uint64_t epochs(std::uint64_t rows, std::string const& given = "") {
    std::string text;
    for (std::uint64_t at = 0; at < rows; ++at) text += std::to_string(at) + "," + std::to_string(at % 2) + "\n";
    option_values values{entry_.options};
    values.set("hidden", "8");
    if (!given.empty()) values.set("epochs", given);
    for (task_array const& each : owner(text, values)->arrays()) {
      if (each.array.name == "epoch_loss") return each.array.shape.at(0);
    }
    return 0;
  }

  /// Returns the mean over the first seeds.
  template <class Rows>
  double accuracy(Rows const& rows) {
    constexpr int seeds = 3;
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      option_values values{entry_.options};
      values.set("seed", std::to_string(seed));
      values.set("hidden", "64");
      auto const job = owner(rows(counter_random{seed, 7}), values);
      EXPECT_TRUE(run_to_end(*job, *executor_).finished);
      sum += job->figures().at(1).value;
    }
    return sum / seeds;
  }

  test::test_folder folder_;
  task_entry const entry_ = mlp_entry();
  std::unique_ptr<executor> executor_ = make_executor({.kind = executor_kind::threads});
};

double unit(counter_random const& random, std::uint64_t at) {
  return static_cast<double>(random.below(at, 1U << 20)) * 0x1p-20;
}

TEST_F(small_tables, have_more_passes_by_default) {
  EXPECT_EQ(epochs(20), 1000U);  // 16 rows train
  EXPECT_EQ(epochs(150), 333U);
  EXPECT_EQ(epochs(178), 279U);
  EXPECT_EQ(epochs(1000), 50U);
  EXPECT_EQ(epochs(5000), 30U);
  EXPECT_EQ(epochs(150, "30"), 30U);
}

TEST_F(small_tables, learn_rings_in_columns_of_other_units) {
  EXPECT_GE(accuracy([](counter_random const& random) {
              std::string rows = "x,y,ring\n";
              for (std::uint64_t at = 0; at < 150; ++at) {
                double const angle = 6.2832 * unit(random, 2 * at);
                double const radius = 1 + static_cast<double>(at % 3) + 0.4 * unit(random, 2 * at + 1);
                rows += std::to_string(1000 * radius * std::cos(angle)) + "," +
                        std::to_string(0.01 * radius * std::sin(angle)) + "," + "abc"[at % 3] + "\n";
              }
              return rows;
            }),
            0.95);
}

/// 30 passes come to 0.67 on such boards.
TEST_F(small_tables, learn_a_chequered_board) {
  EXPECT_GE(accuracy([](counter_random const& random) {
              std::string rows;
              for (std::uint64_t at = 0; at < 500; ++at) {
                double const x = 4 * unit(random, 2 * at);
                double const y = 4 * unit(random, 2 * at + 1);
                bool const white = (static_cast<int>(x) + static_cast<int>(y)) % 2 != 0;
                rows += std::to_string(x) + " " + std::to_string(500 * y) + " " + (white ? "1" : "0") + "\n";
              }
              return rows;
            }),
            0.75);
}

TEST_F(small_tables, learn_a_plane_among_columns_that_tell_nothing) {
  EXPECT_GE(accuracy([](counter_random const& random) {
              std::string rows;
              for (std::uint64_t at = 0; at < 300; ++at) {
                double sum = 0;
                for (std::uint64_t column = 0; column < 8; ++column) {
                  double const value = unit(random, 8 * at + column) - 0.5;
                  if (column < 2) sum += value;
                  rows += std::to_string(1700000000 + 1000 * value) + ";";
                }
                rows += sum > 0 ? "yes\n" : "no\n";
              }
              return rows;
            }),
            0.9);
}

}  // namespace
}  // namespace lull
