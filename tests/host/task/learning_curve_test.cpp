// SPDX-License-Identifier: Apache-2.0
// A picture of two curves over epochs: what is drawn, and what is left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <lull/host/task/learning_curve.hpp>
#include <string>

namespace lull {
namespace {

/// Returns how many points the curve in this place of the picture has.
std::size_t points(std::string const& picture, int which) {
  std::size_t at = 0;
  for (int i = 0; i <= which; ++i) at = picture.find("<polyline points=\"", at) + 18;
  std::string const places = picture.substr(at, picture.find('"', at) - at);
  return static_cast<std::size_t>(std::count(places.begin(), places.end(), ','));
}

bool has(std::string const& picture, std::string const& text) {
  return picture.find(">" + text + "</text>") != std::string::npos;
}

TEST(learning_curve, draws_powers_of_ten_and_shares) {
  std::string const picture = learning_curve_svg("both", {"loss", curve_axis::logarithmic, {2.0, 0.3, 0.02}},
                                                 {"accuracy", curve_axis::share, {0.1, 0.5, 0.9}});
  for (char const* text : {"10", "1", "0.1", "0.01", "0 %", "100 %", "loss", "accuracy", "epoch 3"})
    EXPECT_TRUE(has(picture, text)) << text;
  EXPECT_EQ(points(picture, 0), 3U);
  EXPECT_EQ(points(picture, 1), 3U);
}

TEST(learning_curve, puts_two_linear_curves_on_one_scale) {
  std::string const picture =
      learning_curve_svg("both", {"one", curve_axis::linear, {1.1, 0.5}}, {"other", curve_axis::linear, {0.2, 0.1}});
  EXPECT_TRUE(has(picture, "1.2"));
  EXPECT_FALSE(has(picture, "0.05")) << "a scale of its own would have it";
}

TEST(learning_curve, leaves_out_what_is_no_number) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  std::string const picture = learning_curve_svg("both", {"loss", curve_axis::logarithmic, {1.0, 0.0, nan, 0.5}},
                                                 {"error", curve_axis::linear, {1.0, 0.0, nan, 0.5}});
  EXPECT_EQ(points(picture, 0), 2U);
  EXPECT_EQ(points(picture, 1), 3U);
  EXPECT_EQ(picture.find("nan"), std::string::npos);
  std::string const nothing =
      learning_curve_svg("none", {"loss", curve_axis::logarithmic, {}}, {"error", curve_axis::linear, {nan}});
  EXPECT_EQ(nothing.find("nan"), std::string::npos);
  EXPECT_EQ(points(nothing, 1), 0U);
}

}  // namespace
}  // namespace lull
