// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/learning_curve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include <lull/host/report/svg.hpp>

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

std::string in_short(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

std::string learning_curve_svg(std::span<epoch_result const> epochs) {
  decades const losses = around(epochs);
  svg picture;
  picture.open(width, height, "Learning curve", "Training loss and held-out accuracy of each epoch");
  for (double decade = losses.low; decade <= losses.high; ++decade) {
    double const value = std::pow(10.0, decade);
    double const y = y_at(losses.share(value));
    picture.line(left, y, width - right, y, "#dddddd");
    picture.text(left - 6, y + 4, in_short(value), {.size = font, .fill = std::string{loss_colour}, .anchor = "end"});
  }
  for (int percent = 0; percent <= 100; percent += 20) {
    picture.text(width - right + 6, y_at(percent / 100.0) + 4, std::to_string(percent) + " %",
                 {.size = font, .fill = std::string{accuracy_colour}});
  }
  picture.text(left, height - bottom + 16, "1", {.size = font});
  picture.text(width - right, height - bottom + 16, "epoch " + std::to_string(epochs.size()),
               {.size = font, .anchor = "end"});
  picture.text(left, 16, "training loss", {.size = font, .fill = std::string{loss_colour}});
  picture.text(width - right, 16, "held-out accuracy",
               {.size = font, .fill = std::string{accuracy_colour}, .anchor = "end"});

  std::vector<svg::point> loss;
  std::vector<svg::point> accuracy;
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    double const x = x_at(epochs.size() > 1 ? static_cast<double>(i) / static_cast<double>(epochs.size() - 1) : 0.5);
    if (drawable(epochs[i].loss)) loss.push_back({x, y_at(losses.share(epochs[i].loss))});
    accuracy.push_back({x, y_at(epochs[i].accuracy)});
  }
  picture.polyline(loss, loss_colour);
  picture.polyline(accuracy, accuracy_colour);
  return picture.close();
}

}  // namespace lull
