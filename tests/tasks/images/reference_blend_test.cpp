// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <lull/host/error.hpp>
#include <lull/tasks/images/reference_blend.hpp>
#include <lull/tasks/images/samples.hpp>

#include <lull/tests/tasks/images/image_files.hpp>

namespace lull {
namespace {

using test::noise;
using test::of_numbers;
using numbers = std::vector<std::uint8_t>;
using enum image_corner;

constexpr logo_place whole{.corner = top_left, .margin = 0, .opacity = 1};

numbers blended(image const& onto, image const& logo, double opacity = 1) {
  return reference_blend(onto, logo, {.corner = top_left, .margin = 0, .opacity = opacity}).pixels;
}

TEST(reference_blend, one_pixel_by_hand) {
  auto const grey = of_numbers(1, 1, {100});
  EXPECT_EQ(blended(grey, of_numbers(1, 1, {200})), (numbers{200}));
  EXPECT_EQ(blended(grey, of_numbers(1, 1, {200}), 0.25), (numbers{125}));
  EXPECT_EQ(blended(grey, of_numbers(1, 1, {200}), 0), (numbers{100}));
  EXPECT_EQ(blended(grey, of_numbers(1, 2, {200, 51})), (numbers{120}));       // a fifth
  EXPECT_EQ(blended(grey, of_numbers(1, 2, {200, 51}), 0.5), (numbers{110}));  // a tenth
  EXPECT_EQ(blended(grey, of_numbers(1, 3, {255, 0, 0})), (numbers{76}));      // 0.299 · 255
  EXPECT_EQ(blended(of_numbers(1, 3, {10, 20, 30}), of_numbers(1, 1, {200}), 0.5), (numbers{105, 110, 115}));
  EXPECT_EQ(blended(of_numbers(1, 3, {10, 20, 30}), of_numbers(1, 4, {110, 20, 230, 255}), 0.5),
            (numbers{60, 20, 130}));
}

TEST(reference_blend, over_an_image_with_alpha_by_hand) {
  // Over a transparent pixel: the logo's colour at its own alpha, whatever colour was invisible before.
  EXPECT_EQ(blended(of_numbers(1, 4, {9, 9, 9, 0}), of_numbers(1, 4, {10, 20, 30, 102})), (numbers{10, 20, 30, 102}));
  EXPECT_EQ(blended(of_numbers(1, 2, {9, 0}), of_numbers(1, 2, {77, 0})), (numbers{0, 0}));
  // a = ⅕, A = ⅖: alpha = ⅕ + ⅖ · ⅘ = 0.52; colour = (200 · 0.2 + 100 · 0.32) / 0.52 = 138.46
  EXPECT_EQ(blended(of_numbers(1, 2, {100, 102}), of_numbers(1, 2, {200, 51})), (numbers{138, 133}));
  EXPECT_EQ(blended(of_numbers(1, 2, {100, 102}), of_numbers(1, 1, {200})), (numbers{200, 255}));
}

TEST(reference_blend, depths_may_differ) {
  image sixteen{{1, 1, 1, 16}, std::vector<std::uint8_t>(2), {}};
  detail::set_sample(sixteen, 0, 20000);
  auto const got = reference_blend(sixteen, of_numbers(1, 1, {255}), {.corner = top_left, .margin = 0, .opacity = 0.5});
  EXPECT_EQ(detail::sample(got, 0), 42768);                             // (20000 + 65535) / 2, halves up
  EXPECT_EQ(blended(of_numbers(1, 1, {100}), sixteen), (numbers{78}));  // 20000 / 257
}

TEST(reference_blend, goes_to_its_corner_and_is_cut_off_outside) {
  image const onto = of_numbers(5, 1, numbers(20, 0));
  auto const logo = of_numbers(2, 1, {1, 2, 3, 4});
  auto const at = [&](image_corner corner, std::uint32_t margin) {
    return reference_blend(onto, logo, {.corner = corner, .margin = margin, .opacity = 1}).pixels;
  };
  EXPECT_EQ(at(top_left, 0), (numbers{1, 2, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(at(top_right, 1), (numbers{0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(at(bottom_left, 1), (numbers{0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(at(bottom_right, 0), (numbers{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 4}));
  EXPECT_EQ(at(top_left, 3), (numbers{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(at(bottom_right, 3), (numbers{3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(at(bottom_right, std::numeric_limits<std::uint32_t>::max()), onto.pixels);
  EXPECT_EQ(at(top_left, std::numeric_limits<std::uint32_t>::max()), onto.pixels);
}

TEST(reference_blend, nothing_outside_of_the_logo_changes) {
  for (std::uint8_t channels = 1; channels <= 4; ++channels) {
    for (std::uint8_t const bits : {8, 16}) {
      auto const onto = noise({30, 20, channels, bits}, 1);
      auto const logo = noise({8, 6, 4, 8}, 2);
      auto const got = reference_blend(onto, logo, {.corner = bottom_right, .margin = 3, .opacity = 0.6});
      ASSERT_EQ(got.shape, onto.shape);
      std::size_t changed = 0;
      for (std::size_t at = 0; at < std::size_t{30} * 20 * channels; ++at) {
        auto const x = at / channels % 30;
        auto const y = at / channels / 30;
        bool const inside = x >= 19 && x < 27 && y >= 11 && y < 17;
        bool const same = detail::sample(got, at) == detail::sample(onto, at);
        EXPECT_TRUE(inside || same) << x << " " << y;
        changed += same ? 0 : 1;
      }
      EXPECT_GT(changed, 8 * 6 * channels / 2);
    }
  }
}

TEST(reference_blend, an_impossible_opacity_is_refused) {
  auto const pixel = of_numbers(1, 1, {100});
  for (double const opacity : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(reference_blend(pixel, pixel, {.opacity = opacity}), usage_error);
  }
  EXPECT_NO_THROW(reference_blend(pixel, pixel, whole));
}

}  // namespace
}  // namespace lull
