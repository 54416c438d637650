// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/learning_curve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace lull {

namespace {

constexpr double width = 640;
constexpr double height = 360;
constexpr double left = 60;
constexpr double right = 60;
constexpr double top = 24;
constexpr double bottom = 40;

constexpr double font = 11;
constexpr std::string_view left_colour = "#bb3333";
constexpr std::string_view right_colour = "#3366aa";

/// Return where a share of the plot's width or height lies.
double x_at(double share) { return left + share * (width - left - right); }
double y_at(double share) { return height - bottom - share * (height - top - bottom); }

/// An axis: returns where values lie on it.
struct scale {
  curve_axis axis;
  double low = 0;
  double high = 1;
  double step = 1;  // between two marks of a linear axis

  bool draws(double value) const { return std::isfinite(value) && (axis != curve_axis::logarithmic || value > 0); }
  double share(double value) const {
    return ((axis == curve_axis::logarithmic ? std::log10(value) : value) - low) / (high - low);
  }
};

/// Returns 1, 2 or 5 times a power of ten, such that six of them reach at least `most`.
double step_to(double most) {
  double const least = most > 0 ? most / 6 : 1;
  double const power = std::pow(10.0, std::floor(std::log10(least)));
  for (double const times : {1.0, 2.0, 5.0}) {
    if (times * power >= least) return times * power;
  }
  return 10 * power;
}

scale scale_of(curve_axis axis, std::span<double const> values) {
  scale made{axis};
  if (axis == curve_axis::share) return made;
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (double const each : values) {
    if (!made.draws(each)) continue;
    least = std::min(least, each);
    most = std::max(most, each);
  }
  if (most < least) return made;
  if (axis == curve_axis::logarithmic) {
    made.low = std::floor(std::log10(least));
    made.high = std::max(std::ceil(std::log10(most)), made.low + 1);
  } else {
    made.step = step_to(most);
    made.high = made.step * std::max(1.0, std::ceil(most / made.step));
  }
  return made;
}

struct tick {
  double share;
  std::string text;
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::vector<tick> ticks_of(scale const& on) {
  std::vector<tick> made;
  switch (on.axis) {
    case curve_axis::logarithmic:
      for (double decade = on.low; decade <= on.high; ++decade)
        made.push_back({(decade - on.low) / (on.high - on.low), number(std::pow(10.0, decade))});
      break;
    case curve_axis::share:
      for (int percent = 0; percent <= 100; percent += 20)
        made.push_back({percent / 100.0, std::to_string(percent) + " %"});
      break;
    case curve_axis::linear:
      for (int mark = 0; mark <= std::lround(on.high / on.step); ++mark)
        made.push_back({mark * on.step / on.high, number(mark * on.step)});
  }
  return made;
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string{name} + "=\"" + std::string{value} + "\"";
}
std::string attribute(std::string_view name, double value) { return attribute(name, number(value)); }

std::string text_at(double x, double y, std::string const& text, std::string_view colour, std::string_view anchor) {
  return "<text" + attribute("x", x) + attribute("y", y) + attribute("fill", colour) +
         attribute("text-anchor", anchor) + ">" + text + "</text>\n";
}

struct point {
  double x;
  double y;
};

std::string line_through(std::span<point const> points, std::string_view colour) {
  std::string places;
  for (point const& each : points) places += (places.empty() ? "" : " ") + number(each.x) + "," + number(each.y);
  return "<polyline" + attribute("points", places) + attribute("fill", "none") + attribute("stroke", colour) + "/>\n";
}

std::string line_of(epoch_curve const& curve, scale const& on, std::string_view colour) {
  std::vector<point> points;
  std::size_t const count = curve.values.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!on.draws(curve.values[i])) continue;
    double const share = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0.5;
    points.push_back({x_at(share), y_at(on.share(curve.values[i]))});
  }
  return line_through(points, colour);
}

}  // namespace

std::string learning_curve_svg(std::string_view title, epoch_curve const& left_curve, epoch_curve const& right_curve) {
  std::vector<double> both = left_curve.values;
  both.insert(both.end(), right_curve.values.begin(), right_curve.values.end());
  bool const shared = left_curve.axis == curve_axis::linear && right_curve.axis == curve_axis::linear;
  scale const on_left = scale_of(left_curve.axis, shared ? both : left_curve.values);
  scale const on_right = scale_of(right_curve.axis, shared ? both : right_curve.values);

  std::string picture = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"" +
                        attribute("width", width) + attribute("height", height) + attribute("font-size", font) +
                        attribute("viewBox", "0 0 " + number(width) + " " + number(height)) +
                        " role=\"img\" aria-labelledby=\"title\" font-family=\"sans-serif\">\n<title id=\"title\">" +
                        std::string{title} + "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  for (tick const& each : ticks_of(on_left)) {
    double const y = y_at(each.share);
    picture += "<line" + attribute("x1", left) + attribute("y1", y) + attribute("x2", width - right) +
               attribute("y2", y) + attribute("stroke", "#dddddd") + "/>\n";
    picture += text_at(left - 6, y + 4, each.text, left_colour, "end");
  }
  for (tick const& each : ticks_of(on_right))
    picture += text_at(width - right + 6, y_at(each.share) + 4, each.text, right_colour, "start");
  std::size_t const epochs = std::max(left_curve.values.size(), right_curve.values.size());
  picture += text_at(left, height - bottom + 16, "1", "#111111", "start");
  picture += text_at(width - right, height - bottom + 16, "epoch " + std::to_string(epochs), "#111111", "end");
  picture += text_at(left, 16, std::string{left_curve.name}, left_colour, "start");
  picture += text_at(width - right, 16, std::string{right_curve.name}, right_colour, "end");
  return picture + line_of(left_curve, on_left, left_colour) + line_of(right_curve, on_right, right_colour) +
         "</svg>\n";
}

}  // namespace lull
