// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lull {

/// Text of one self-contained SVG picture. Texts are escaped; bytes that XML cannot hold become U+FFFD.
class svg {
 public:
  struct point {
    double x;
    double y;
  };
  struct text_style {
    double size = 14;  // px
    std::string fill = "#111111";
    std::string weight = "normal";
    std::string anchor = "start";
  };

  /// Title and description are what a screen reader says of the picture.
  void open(double width, double height, std::string_view title, std::string_view description);
  /// Diagonal stripes: a fill url(#name), told from plain ones without colour.
  void pattern(std::string_view name, std::string_view background, std::string_view stripe);
  /// `stroke` empty: no border. `hint` is shown under the pointer.
  void rect(double x, double y, double width, double height, std::string_view fill, std::string_view stroke,
            std::string_view hint);
  void line(double x1, double y1, double x2, double y2, std::string_view stroke);
  /// One line through all points.
  void polyline(std::span<point const> points, std::string_view stroke);
  void text(double x, double y, std::string_view text, text_style const& style);
  /// The whole picture; nothing can be drawn after it.
  std::string close();

 private:
  std::string content_;
};

/// Escaped for XML, between tags or inside quotes.
std::string xml_text(std::string_view text);

}  // namespace lull
