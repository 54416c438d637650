// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/report/svg.hpp>

namespace lull {
namespace {

TEST(Svg, TextIsEscapedAndStaysUtf8) {
  EXPECT_EQ(xml_text("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
  EXPECT_EQ(xml_text("µs · €\U0001F600"), "µs · €\U0001F600");
  std::string const bad = "\xEF\xBF\xBD";
  EXPECT_EQ(xml_text("caf\xE9!"), "caf" + bad + "!");
  EXPECT_EQ(xml_text(std::string{"a\0b\x01", 4}), "a" + bad + "b" + bad);
  EXPECT_EQ(xml_text("\xC0\xAF"), bad + bad);                      // overlong
  EXPECT_EQ(xml_text("\xED\xA0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(xml_text("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // beyond Unicode
  EXPECT_EQ(xml_text("\xE2(\xA1"), bad + "(" + bad);               // no continuation
  EXPECT_EQ(xml_text("\xE2\x82"), bad + bad);                      // cut off
}

TEST(Svg, APolylineGoesThroughItsPoints) {
  svg picture;
  picture.open(10, 10, "line", "two points");
  std::vector<svg::point> const points{{1, 2.5}, {3.126, 4}};
  picture.polyline(points, "#000000");
  EXPECT_NE(picture.close().find("points=\"1,2.5 3.13,4\" fill=\"none\" stroke=\"#000000\"/>"), std::string::npos);
}

}  // namespace
}  // namespace lull
