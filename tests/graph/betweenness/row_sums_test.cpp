// SPDX-License-Identifier: Apache-2.0
// Numbers with an exponent of their own, and where a row's parts begin and end.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <lull/graph/betweenness/row_sums.hpp>
#include <lull/graph/betweenness/wide_number.hpp>

namespace lull {
namespace {

TEST(wide_number, calculates_as_a_double_does) {
  for (double const a : {0.0, 1.0, 3.0, 0.1, 1e70, 1e-70}) {
    for (double const b : {1.0, 7.0, 0.3, 1e60}) {
      EXPECT_EQ((wide_number::of(a) + wide_number::of(b)).value(), a + b) << a << " + " << b;
      EXPECT_EQ((wide_number::of(b) + wide_number::of(a)).value(), a + b) << a << " + " << b;
      if (a * b < 0x1p256) {
        EXPECT_EQ((wide_number::of(a) * wide_number::of(b)).value(), a * b) << a << " * " << b;
      }
      EXPECT_EQ((1.5 / wide_number::of(b)).value(), 1.5 / b);
    }
  }
}

TEST(wide_number, has_no_end) {
  wide_number doubled = wide_number::of(3);
  for (int i = 0; i < 5000; ++i) doubled = doubled + doubled;
  EXPECT_EQ(doubled.scale * 512 + std::ilogb(doubled.fraction), 5001);
  EXPECT_EQ(doubled + wide_number::of(1), doubled);
  EXPECT_EQ(wide_number::of(1) + doubled, doubled);
  EXPECT_EQ((6.0 / doubled * doubled).value(), 6.0);
  EXPECT_EQ((1.0 / doubled).value(), 0.0);
  EXPECT_EQ(doubled * wide_number{}, wide_number{});
}

TEST(wide_number, adds_across_scales_without_a_loss) {
  // 1 + 2^-52, of which the one is just above the border between two scales.
  wide_number const one = wide_number::of(0x1p256);
  EXPECT_EQ(one.scale, 1);
  wide_number const sum = one + wide_number::of(0x1p204);
  EXPECT_EQ(sum.fraction, 0x1p-256 * (1 + 0x1p-52));
  EXPECT_EQ(sum.scale, 1);
}

TEST(row_parts, cover_a_row_once) {
  using parts = detail::row_parts<4>;
  for (std::uint64_t numbers = 1; numbers < 70; ++numbers) {
    std::uint64_t expected_part = 0;
    std::uint32_t expected_at = 0;
    for (std::uint64_t position = 0; position < numbers; ++position) {
      auto const found = parts::find(position, numbers);
      EXPECT_EQ(found.part, expected_part);
      EXPECT_EQ(found.at, expected_at);
      EXPECT_LE(found.at + found.left, parts::longest);
      if (found.left == 1) {
        EXPECT_TRUE(numbers < 4 || found.at + 1 >= 4) << "a part that is too short";
        ++expected_part;
        expected_at = 0;
      } else {
        ++expected_at;
      }
    }
    EXPECT_EQ(expected_at, 0U);
    EXPECT_EQ(expected_part, parts::of(numbers));
  }
}

}  // namespace
}  // namespace lull
