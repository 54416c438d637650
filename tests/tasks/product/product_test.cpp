// SPDX-License-Identifier: Apache-2.0
// Products by a warp's tensor cores, as the PTX ISA describes them, against plain sums in double precision.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/product/product.hpp>
#include <lull/tests/tasks/product/manual_warp.hpp>

namespace lull {
namespace {

TEST(bfloat16_numbers, are_the_nearest_ties_to_even) {
  struct {
    float given;
    std::uint16_t bits;
  } const all[] = {{0.0f, 0},
                   {-0.0f, 0x8000},
                   {1.0f, 0x3f80},
                   {1.00390625f, 0x3f80},  // a tie: down to even
                   {1.01171875f, 0x3f82},  // a tie: up to even
                   {1.0040f, 0x3f81},
                   {-3.0f, 0xc040},
                   {3.4e38f, 0x7f80},
                   {1e-45f, 0},
                   {std::numeric_limits<float>::infinity(), 0x7f80}};
  for (auto const& each : all) EXPECT_EQ(bfloat16{each.given}.bits, each.bits) << each.given;
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16{std::numeric_limits<float>::quiet_NaN()})));
  EXPECT_EQ(static_cast<float>(bfloat16{-3.0f}), -3.0f);
}

struct matrix {
  std::uint64_t rows;
  std::uint64_t columns;
  std::vector<bfloat16> values;

  matrix(std::uint64_t r, std::uint64_t c, std::uint64_t seed) : rows(r), columns(c) {
    counter_random const random{seed, 0};
    for (std::uint64_t i = 0; i < r * c; ++i) values.emplace_back(static_cast<float>(random.below(i, 2001)) / 1000 - 1);
  }
  matrix_ref<bfloat16> ref() const { return {values.data(), rows, columns}; }
  double at(std::uint64_t row, std::uint64_t column) const {
    return static_cast<double>(static_cast<float>(values[row * columns + column]));
  }
};

template <factors How>
double element(matrix const& a, matrix const& b, std::uint64_t row, std::uint64_t column) {
  double sum = 0;
  std::uint64_t const depth = How == factors::left_transposed ? a.rows : a.columns;
  for (std::uint64_t k = 0; k < depth; ++k) {
    sum += (How == factors::left_transposed ? a.at(k, row) : a.at(row, k)) *
           (How == factors::right_transposed ? b.at(column, k) : b.at(k, column));
  }
  return sum;
}

/// Checks every tile of a product, computed by manual warps.
template <factors How, std::uint32_t Side>
void expect_tiles(std::uint64_t rows, std::uint64_t columns, std::uint64_t depth) {
  SCOPED_TRACE(testing::Message() << rows << " x " << columns << " x " << depth << ", side " << Side << ", "
                                  << static_cast<int>(How));
  matrix const a = How == factors::left_transposed ? matrix{depth, rows, 1} : matrix{rows, depth, 1};
  matrix const b = How == factors::right_transposed ? matrix{columns, depth, 2} : matrix{depth, columns, 2};
  std::vector<float> found(rows * columns, 1e9f);
  product_shape const shape = shape_of<How>(a.ref(), b.ref());
  ASSERT_EQ(shape.rows, rows);
  ASSERT_EQ(shape.columns, columns);
  ASSERT_EQ(shape.depth, depth);
  test::manual_block block;
  block.run([&](auto const& team) {
    for (std::uint64_t tile = 0; tile < product_tiles_of_side(rows, columns, Side); ++tile) {
      product_sums const place = sums_at(static_cast<float*>(team.shared()), shape, Side, tile);
      team.sync();
      warp_product<test::manual_warp, How, Side>{team.shared()}.run(team, a.ref(), b.ref(), depth, place, polling::yes);
      each_eight(team, place, [&](std::uint64_t row, std::uint64_t column, float const* sums) {
        for (std::uint64_t i = 0; i < 8; ++i) found[row * columns + column + i] = sums[i];
      });
    }
  });
  EXPECT_EQ(block.conflicts(), 0U);
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t column = 0; column < columns; ++column) {
      double const expected = element<How>(a, b, row, column);
      ASSERT_NEAR(static_cast<double>(found[row * columns + column]), expected, 1e-6 * static_cast<double>(depth))
          << row << ", " << column;
    }
  }
}

TEST(warp_products, of_one_step_are_right_in_both_sizes_of_tile) {
  expect_tiles<factors::plain, 32>(32, 32, 64);
  expect_tiles<factors::right_transposed, 32>(32, 32, 64);
  expect_tiles<factors::left_transposed, 32>(32, 32, 64);
  expect_tiles<factors::plain, 64>(64, 64, 64);
  expect_tiles<factors::right_transposed, 64>(64, 64, 64);
  expect_tiles<factors::left_transposed, 64>(64, 64, 64);
}

TEST(warp_products, of_shapes_that_are_no_multiple_of_a_tile_are_right) {
  expect_tiles<factors::plain, 32>(35, 40, 72);
  expect_tiles<factors::right_transposed, 64>(67, 72, 136);
  expect_tiles<factors::left_transposed, 32>(40, 16, 33);  // the depth is rows: any number
  expect_tiles<factors::left_transposed, 64>(72, 8, 77);
}

TEST(warp_products, go_round_their_ring) {
  expect_tiles<factors::plain, 32>(16, 8, 64 * 9);
  expect_tiles<factors::plain, 64>(16, 8, 64 * 9);
}

TEST(warp_products, ask_within_a_deep_tile_and_leave_without_sums) {
  matrix const a{8, 3000, 1};
  matrix const b{3000, 8, 2};
  for (std::uint64_t const leaves_at : {std::uint64_t{0}, std::uint64_t{2}}) {
    test::manual_block block{leaves_at};
    bool left = false;
    block.run([&](auto const& team) {
      product_sums const place = sums_at(static_cast<float*>(team.shared()), {8, 8, 3000}, 32, 0);
      product_sums const found = warp_product<test::manual_warp, factors::plain, 32>{team.shared()}.run(
          team, a.ref(), b.ref(), 3000, place, polling::yes);
      if (team.rank() == 0) left = found.left;
    });
    EXPECT_EQ(block.polls(), 2U);
    EXPECT_EQ(left, leaves_at == 2);
  }
}

TEST(thin_products, are_right_behind_their_mask) {
  struct {
    std::uint64_t rows, columns, depth;
  } const all[] = {{32, 256, 16}, {5, 264, 8}, {17, 40, 40}};
  for (auto const& shape : all) {
    matrix const a{shape.rows, shape.depth, 1};
    matrix const b{shape.columns, shape.depth, 2};
    matrix const mask{shape.rows, shape.columns, 3};
    std::vector<bfloat16> found(shape.rows * shape.columns, bfloat16{9.0f});
    std::vector<bfloat16> plainly = found;
    test::manual_block block;
    block.run([&](auto const& team) {
      warp_thin_product<test::manual_warp>(team, a.ref(), b.ref(), mask.values.data(), found.data());
    });
    struct {
      int rank() const { return 0; }
      int size() const { return 1; }
    } const solo;
    multiply_thin(solo, a.ref(), b.ref(), mask.values.data(), plainly.data());
    for (std::uint64_t row = 0; row < shape.rows; ++row) {
      for (std::uint64_t column = 0; column < shape.columns; ++column) {
        double const expected = mask.at(row, column) > 0 ? element<factors::right_transposed>(a, b, row, column) : 0;
        auto const at = row * shape.columns + column;
        ASSERT_NEAR(static_cast<double>(static_cast<float>(found[at])), expected, 0x1p-8 * std::abs(expected) + 1e-5)
            << row << ", " << column;
        ASSERT_NEAR(static_cast<double>(static_cast<float>(plainly[at])), expected, 0x1p-8 * std::abs(expected) + 1e-5)
            << row << ", " << column;
      }
    }
  }
}

TEST(product_sides, are_large_only_where_there_are_many_tiles) {
  EXPECT_EQ(product_side(512, 1024), 64U);
  EXPECT_EQ(product_side(64, 256), 32U);
  EXPECT_EQ(product_tiles(33, 32), 2U);
}

}  // namespace
}  // namespace lull
