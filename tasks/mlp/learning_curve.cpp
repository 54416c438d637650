// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/learning_curve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
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
constexpr std::string_view loss_colour = "#bb3333";
constexpr std::string_view accuracy_colour = "#3366aa";

/// Where a share of the plot's width or height lies.
double x_at(double share) { return left + share * (width - left - right); }
double y_at(double share) { return height - bottom - share * (height - top - bottom); }

/// Of a logarithmic axis, powers of ten.
struct decades {
  double low = 0;
  double high = 1;
  double share(double value) const { return (std::log10(value) - low) / (high - low); }
};

bool drawable(double loss) { return std::isfinite(loss) && loss > 0; }

decades around(std::span<epoch_result const> epochs) {
  std::optional<decades> found;
  for (epoch_result const& each : epochs) {
    if (!drawable(each.loss)) continue;
    double const at = std::log10(each.loss);
    if (!found) found = {std::floor(at), std::ceil(at)};
    found = {std::min(found->low, std::floor(at)), std::max(found->high, std::ceil(at))};
  }
  if (!found) return {};
  return {found->low, std::max(found->high, found->low + 1)};
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string{name} + "=\"" + std::string{value} + "\"";
}
std::string attribute(std::string_view name, double value) { return attribute(name, number(value)); }

/// Texts are this file's alone, so nothing is escaped.
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

}  // namespace

std::string learning_curve_svg(std::span<epoch_result const> epochs) {
  decades const losses = around(epochs);
  std::string picture = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"" +
                        attribute("width", width) + attribute("height", height) + attribute("font-size", font) +
                        attribute("viewBox", "0 0 " + number(width) + " " + number(height)) +
                        " role=\"img\" aria-labelledby=\"title\" font-family=\"sans-serif\">\n"
                        "<title id=\"title\">Training loss and held-out accuracy of each epoch</title>\n"
                        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  for (double decade = losses.low; decade <= losses.high; ++decade) {
    double const value = std::pow(10.0, decade);
    double const y = y_at(losses.share(value));
    picture += "<line" + attribute("x1", left) + attribute("y1", y) + attribute("x2", width - right) +
               attribute("y2", y) + attribute("stroke", "#dddddd") + "/>\n";
    picture += text_at(left - 6, y + 4, number(value), loss_colour, "end");
  }
  for (int percent = 0; percent <= 100; percent += 20) {
    picture +=
        text_at(width - right + 6, y_at(percent / 100.0) + 4, std::to_string(percent) + " %", accuracy_colour, "start");
  }
  picture += text_at(left, height - bottom + 16, "1", "#111111", "start");
  picture += text_at(width - right, height - bottom + 16, "epoch " + std::to_string(epochs.size()), "#111111", "end");
  picture += text_at(left, 16, "training loss", loss_colour, "start");
  picture += text_at(width - right, 16, "held-out accuracy", accuracy_colour, "end");

  std::vector<point> loss;
  std::vector<point> accuracy;
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    double const x = x_at(epochs.size() > 1 ? static_cast<double>(i) / static_cast<double>(epochs.size() - 1) : 0.5);
    if (drawable(epochs[i].loss)) loss.push_back({x, y_at(losses.share(epochs[i].loss))});
    accuracy.push_back({x, y_at(epochs[i].accuracy)});
  }
  return picture + line_through(loss, loss_colour) + line_through(accuracy, accuracy_colour) + "</svg>\n";
}

}  // namespace lull
