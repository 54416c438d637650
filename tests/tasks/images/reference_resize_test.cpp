// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <lull/host/error.hpp>
#include <lull/tasks/images/psnr.hpp>
#include <lull/tasks/images/reference_resize.hpp>
#include <lull/tasks/images/samples.hpp>

#include <lull/tests/tasks/images/image_files.hpp>

namespace lull {
namespace {

using test::noise;
using test::of_numbers;
using numbers = std::vector<std::uint8_t>;

constexpr image_filter filters[] = {image_filter::lanczos3, image_filter::area};

/// Resizes a row, and checks that a column gives the same.
numbers resized(numbers const& row, std::uint32_t length, image_filter filter) {
  auto const wide = reference_resize(of_numbers(static_cast<std::uint32_t>(row.size()), 1, row), length, 1, filter);
  auto const high = reference_resize(of_numbers(1, 1, row), 1, length, filter);
  EXPECT_EQ(wide.pixels, high.pixels);
  return wide.pixels;
}

TEST(reference_resize, area_by_hand) {
  using enum image_filter;
  EXPECT_EQ(resized({0, 100, 200, 50}, 2, area), (numbers{50, 125}));
  EXPECT_EQ(resized({30, 60, 90}, 2, area), (numbers{40, 80}));  // (2·30 + 60) / 3, (60 + 2·90) / 3
  EXPECT_EQ(resized({10, 20}, 3, area), (numbers{10, 15, 20}));
  EXPECT_EQ(resized({0, 90, 180}, 5, area), (numbers{0, 30, 90, 150, 180}));  // the second: ⅔ of the first, ⅓
  EXPECT_EQ(resized({1, 2}, 4, area), (numbers{1, 1, 2, 2}));
  EXPECT_EQ(resized({1, 2}, 1, area), (numbers{2}));  // 1.5: halves up
  EXPECT_EQ(reference_resize(of_numbers(2, 1, {0, 10, 20, 50}), 1, 1, area).pixels, (numbers{20}));
  EXPECT_EQ(reference_resize(of_numbers(2, 3, {0, 10, 20, 50, 60, 70}), 1, 1, area).pixels, (numbers{25, 35, 45}));
}

TEST(reference_resize, lanczos_by_hand) {
  using enum image_filter;
  EXPECT_EQ(resized({0, 100}, 1, lanczos3), (numbers{50}));
  // Centres ¼, ¾, … with L(¼) = 0.8901, L(¾) = 0.2701, L(1¼) = -0.1328: weights 1.1755 and -0.1755 at the outer ones.
  EXPECT_EQ(resized({0, 200}, 4, lanczos3), (numbers{0, 47, 153, 200 + 35}));
  EXPECT_EQ(resized({10, 20, 200}, 2, lanczos3), (numbers{0, 138}));
  EXPECT_EQ(resized({0, 100, 200, 50}, 3, lanczos3), (numbers{12, 166, 95}));
  EXPECT_EQ(resized({0, 0, 0, 255, 255, 255}, 2, lanczos3), (numbers{21, 234}));
}

TEST(reference_resize, the_same_size_is_the_same_image) {
  for (auto const filter : filters) {
    for (std::uint8_t channels = 1; channels <= 4; ++channels) {
      for (std::uint8_t const bits : {8, 16}) {
        auto from = noise({23, 17, channels, bits}, channels);
        for (std::size_t at = channels - 1U; from.shape.has_alpha() && at < std::size_t{23} * 17 * channels;
             at += channels) {
          detail::set_sample(from, at, 1 + detail::sample(from, at) / 2);  // invisible pixels have no colour to keep
        }
        EXPECT_EQ(reference_resize(from, 23, 17, filter).pixels, from.pixels) << int{channels} << " " << int{bits};
      }
    }
  }
}

TEST(reference_resize, one_colour_stays) {
  for (auto const filter : filters) {
    for (std::uint8_t channels = 1; channels <= 4; ++channels) {
      for (std::uint8_t const bits : {8, 16}) {
        image from{{13, 9, channels, bits}, {}, {}};
        from.pixels.resize(from.shape.bytes());
        for (std::size_t at = 0; at < std::size_t{13} * 9 * channels; ++at) {
          detail::set_sample(from, at, static_cast<double>(from.shape.largest() - 17 * (at % channels + 1)));
        }
        for (auto const& [width, height] : {std::pair{1U, 1U}, {5U, 4U}, {13U, 40U}, {100U, 3U}, {27U, 19U}}) {
          auto const got = reference_resize(from, width, height, filter);
          ASSERT_EQ(got.shape, (image_shape{width, height, channels, bits}));
          for (std::size_t at = 0; at < std::size_t{width} * height * channels; ++at) {
            ASSERT_EQ(detail::sample(got, at), detail::sample(from, at % channels));
          }
        }
      }
    }
  }
}

TEST(reference_resize, invisible_colours_do_not_bleed) {
  for (auto const filter : filters) {
    // White, and invisible red: white at half the alpha, never pink.
    EXPECT_EQ(reference_resize(of_numbers(2, 4, {255, 255, 255, 255, 255, 0, 0, 0}), 1, 1, filter).pixels,
              (numbers{255, 255, 255, 128}));
    EXPECT_EQ(reference_resize(of_numbers(2, 2, {200, 100, 50, 0}), 1, 1, filter).pixels, (numbers{200, 50}));
    EXPECT_EQ(reference_resize(of_numbers(2, 2, {200, 0, 50, 0}), 2, 1, filter).pixels, (numbers{0, 0, 0, 0}));
  }
  // A third of 1 rounds to 0, and a transparent pixel has no colour.
  EXPECT_EQ(reference_resize(of_numbers(3, 2, {200, 1, 50, 0, 50, 0}), 1, 1, image_filter::area).pixels,
            (numbers{0, 0}));
  // Weighed by alpha: (200·100 + 50·50) / 150
  EXPECT_EQ(reference_resize(of_numbers(2, 2, {200, 100, 50, 50}), 1, 1, image_filter::area).pixels,
            (numbers{150, 75}));
}

TEST(reference_resize, sixteen_bits_are_finer_than_eight) {
  image from{{2, 1, 1, 16}, std::vector<std::uint8_t>(4), {}};
  detail::set_sample(from, 0, 1000);
  detail::set_sample(from, 1, 1005);
  EXPECT_EQ(detail::sample(reference_resize(from, 1, 1, image_filter::area), 0), 1003);
  // The same image with every number times 257 gives the same result times 257, except for the rounding of the eight
  // bits.
  auto const eight = noise({40, 30, 3, 8}, 4);
  image sixteen{{40, 30, 3, 16}, std::vector<std::uint8_t>(eight.pixels.size() * 2), {}};
  for (std::size_t at = 0; at < eight.pixels.size(); ++at) {
    detail::set_sample(sixteen, at, eight.pixels[at] * 257.0);
  }
  for (auto const filter : filters) {
    auto const small = reference_resize(eight, 17, 41, filter);
    auto const fine = reference_resize(sixteen, 17, 41, filter);
    for (std::size_t at = 0; at < small.pixels.size(); ++at) {
      ASSERT_LE(std::abs(static_cast<double>(small.pixels[at]) - detail::sample(fine, at) / 257.0), 0.502) << at;
    }
  }
}

TEST(reference_resize, a_mirrored_image_gives_the_mirrored_result) {
  auto const from = noise({37, 1, 1, 8}, 6);
  auto const back = of_numbers(37, 1, {from.pixels.rbegin(), from.pixels.rend()});
  for (auto const filter : filters) {
    for (std::uint32_t const width : {1U, 7U, 36U, 38U, 100U}) {
      auto const got = reference_resize(from, width, 1, filter).pixels;
      auto const mirrored = reference_resize(back, width, 1, filter).pixels;
      for (std::size_t at = 0; at < width; ++at) {
        EXPECT_LE(std::abs(got[at] - mirrored[width - 1 - at]), 1);  // halves
      }
    }
  }
}

TEST(reference_resize, impossible_sides_are_refused) {
  auto const from = noise({3, 3, 1, 8}, 1);
  EXPECT_THROW(reference_resize(from, 0, 3, image_filter::area), usage_error);
  EXPECT_THROW(reference_resize(from, 3, 32769, image_filter::area), usage_error);
  EXPECT_THROW(reference_resize({}, 3, 3, image_filter::area), usage_error);
}

TEST(psnr, by_hand) {
  EXPECT_EQ(psnr(noise({3, 3, 3, 8}, 1), noise({3, 3, 3, 8}, 1)), std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(psnr(of_numbers(1, 1, {0}), of_numbers(1, 1, {255})), 0);
  EXPECT_NEAR(psnr(of_numbers(2, 1, {10, 10}), of_numbers(2, 1, {11, 9})), 48.1308, 1e-4);  // 20 log 255
  EXPECT_NEAR(psnr(of_numbers(4, 1, {10, 10, 10, 10}), of_numbers(4, 1, {10, 10, 10, 12})), 48.1308, 1e-4);
  EXPECT_THROW(psnr(noise({3, 3, 3, 8}, 1), noise({3, 3, 1, 8}, 1)), usage_error);
  EXPECT_THROW(psnr({}, {}), usage_error);
}

}  // namespace
}  // namespace lull
