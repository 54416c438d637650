// SPDX-License-Identifier: Apache-2.0
// Planned tiles, compared with the taps that they really have.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tasks/images/filter.hpp>
#include <lull/tasks/images/resize.hpp>
#include <lull/tasks/images/resize_plan.hpp>

namespace lull {
namespace {

struct sides {
  std::uint32_t in;
  std::uint32_t out;
};

constexpr sides many_sides[] = {{3840, 1920}, {3840, 640},   {2160, 1080}, {2160, 360}, {1, 1},     {1, 700},
                                {700, 1},     {23, 31},      {997, 31},    {451, 300},  {300, 451}, {32768, 64},
                                {64, 32768},  {32768, 1000}, {4032, 3999}, {7, 6}};

std::vector<resize_plan> many_plans() {
  std::vector<resize_plan> made;
  for (image_filter const filter : {image_filter::lanczos3, image_filter::area}) {
    for (sides const& wide : many_sides) {
      for (sides const& high : many_sides) {
        for (std::uint8_t channels = 1; channels <= 4; ++channels) {
          made.push_back({{wide.in, high.in, channels, 8}, {wide.out, high.out, channels, 8}, filter});
        }
      }
    }
  }
  return made;
}

TEST(resize_plan, a_tile_s_rows_fit_its_storage_whatever_the_sizes) {
  for (resize_plan const& plan : many_plans()) {
    auto const tile = plan.tiles();
    if (!tile) continue;
    ASSERT_EQ(tile->height % 2, 0U);
    if (tile->row_floats == 0) {
      ASSERT_EQ(plan.in.width * plan.in.channels % 4, 0U);
      continue;
    }
    ASSERT_LE(std::size_t{tile->row_floats} * tile->height * sizeof(float), resize_tile::storage_bytes);
    std::vector<float> weights;
    std::vector<taps> const across = taps_of(plan.filter, plan.in.width, plan.out.width, weights);
    for (std::uint32_t x = 0; x < plan.out.width; x += tile->width) {
      taps const last = across[std::min(x + tile->width, plan.out.width) - 1];
      std::uint32_t const first = across[x].first / resize_tile::first_multiple * resize_tile::first_multiple;
      std::uint32_t const columns = last.first + last.count - first;
      ASSERT_LE(resize_tile::row_floats(columns, plan.in.channels), tile->row_floats)
          << plan.in.width << " -> " << plan.out.width << ", channels " << int{plan.in.channels} << ", at " << x;
    }
  }
}

/// Short tiles only, and of large results.
TEST(resize_plan, chunks_of_several_tiles_are_as_long_as_others_and_many) {
  auto const plan = [](image_filter filter, std::uint32_t width, std::uint8_t channels) {
    return resize_plan{{3840, 2160, channels, 8}, {width, width * 9 / 16, channels, 8}, filter};
  };
  EXPECT_EQ(plan(image_filter::area, 1920, 1).grain(), 2U);
  EXPECT_EQ(plan(image_filter::area, 1920, 3).grain(), 1U);
  EXPECT_EQ(plan(image_filter::lanczos3, 1920, 3).grain(), 1U);
  EXPECT_EQ(plan(image_filter::area, 640, 3).grain(), 1U);
  for (resize_plan const& each : many_plans()) {
    ASSERT_GE(each.grain(), 1U);
    ASSERT_TRUE(each.grain() == 1 || each.items(0) / each.grain() >= 500);
  }
}

TEST(resize_plan, pixels_of_few_samples_are_made_straight_where_rows_begin_at_whole_words) {
  auto const plan = [](image_filter filter, std::uint32_t from, std::uint32_t width) {
    return resize_plan{{from, 2160, 3, 8}, {width, width * 9 / 16, 3, 8}, filter};
  };
  for (std::uint32_t const width : {2560U, 1920U, 1280U, 640U})
    EXPECT_EQ(plan(image_filter::area, 3840, width).tiles()->row_floats, 0U) << width;
  EXPECT_NE(plan(image_filter::area, 3840, 2100).tiles()->row_floats, 0U);  // three samples, where the half has two
  EXPECT_NE(plan(image_filter::area, 3841, 1920).tiles()->row_floats, 0U);
  EXPECT_NE(plan(image_filter::area, 3840, 100).tiles()->row_floats, 0U);
  for (std::uint32_t const width : {7680U, 1920U, 640U})
    EXPECT_NE(plan(image_filter::lanczos3, 3840, width).tiles()->row_floats, 0U) << width;
}

TEST(resize_plan, samples_that_neighbours_share_are_counted) {
  for (image_filter const filter : {image_filter::lanczos3, image_filter::area}) {
    for (sides const& side : many_sides) {
      std::vector<float> weights;
      std::vector<taps> const all = taps_of(filter, side.in, side.out, weights);
      for (std::uint32_t const together : {1U, 2U}) {
        std::uint32_t most = 0;
        for (std::size_t i = 0; i < all.size(); i += together) {
          taps const last = all[std::min(i + together, all.size()) - 1];
          most = std::max(most, last.first + last.count - all[i].first);
        }
        EXPECT_EQ(max_shared_taps(filter, side.in, side.out, together), most)
            << side.in << " " << side.out << " " << together;
        EXPECT_GE(max_taps(filter, side.in, side.out), max_shared_taps(filter, side.in, side.out, 1));
      }
    }
  }
}

TEST(resize_plan, taps_go_on_to_the_right) {
  for (image_filter const filter : {image_filter::lanczos3, image_filter::area}) {
    for (sides const& side : many_sides) {
      std::vector<float> weights;
      std::vector<taps> const all = taps_of(filter, side.in, side.out, weights);
      for (std::size_t i = 1; i < all.size(); ++i) {
        ASSERT_GE(all[i].first, all[i - 1].first);
        ASSERT_GE(all[i].first + all[i].count, all[i - 1].first + all[i - 1].count);
      }
    }
  }
}

/// Nothing is written twice or beyond the row. Four samples that a thread stores, from a multiple of four on, are side
/// by side.
template <int Channels>
void expect_places_of_their_own() {
  for (std::uint32_t pixel = 0; pixel < 1000; ++pixel) {
    std::uint32_t const place = resize_tile::place<Channels>(pixel);
    ASSERT_GE(resize_tile::place<Channels>(pixel + 1), place + Channels);
    ASSERT_LE(place + Channels, resize_tile::row_floats(pixel + 1, Channels));
    ASSERT_LE(resize_tile::row_floats(pixel, Channels), resize_tile::row_floats(pixel + 1, Channels));
  }
  ASSERT_EQ(resize_tile::free_behind(Channels) * Channels % 4, 0U);
}
TEST(resize_plan, every_sample_of_a_row_has_a_place_of_its_own) {
  expect_places_of_their_own<1>();
  expect_places_of_their_own<2>();
  expect_places_of_their_own<3>();
  expect_places_of_their_own<4>();
}

TEST(resize_plan, tables_hold_the_taps_of_two_rows_together) {
  resize_plan const plan{{40, 61, 3, 8}, {20, 23, 3, 8}, image_filter::lanczos3};
  ASSERT_TRUE(plan.tiles());
  std::vector<unsigned char> staged(plan.staged_bytes(), 0xa5);
  plan.add_tables(staged);
  picture const made = plan.at(staged.data());
  std::vector<float> weights;
  std::vector<taps> const rows = taps_of(plan.filter, 61, 23, weights);
  for (std::uint32_t row = 0; row < 23; ++row) {
    taps const both = made.down[row / 2];
    std::vector<float> dense(61);
    for (std::uint32_t i = 0; i < both.count; ++i) dense[both.first + i] = made.weights[both.weights + 2 * i + row % 2];
    std::vector<float> expected(61);
    for (std::uint32_t i = 0; i < rows[row].count; ++i) expected[rows[row].first + i] = weights[rows[row].weights + i];
    EXPECT_EQ(dense, expected) << row;
  }
}

TEST(resize_plan, photographs_go_in_tiles_and_thumbnails_of_panoramas_do_not) {
  for (sides const& wide : {sides{3840, 1920}, sides{3840, 640}, sides{640, 3840}}) {
    EXPECT_TRUE((resize_plan{{wide.in, wide.in * 9 / 16, 3, 8}, {wide.out, wide.out * 9 / 16, 3, 8}}).tiles())
        << wide.in << " " << wide.out;
  }
  EXPECT_FALSE((resize_plan{{32768, 4096, 3, 8}, {128, 16, 3, 8}}).tiles());
}

}  // namespace
}  // namespace lull
