// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/learning_curve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace lull {

namespace {

constexpr double width = 640;
constexpr double height = 360;
constexpr double left = 60;
constexpr double right = 60;
constexpr double top = 24;
constexpr double bottom = 40;

/// Where a share of the plot's width or height lies.
double x_at(double share) { return left + share * (width - left - right); }
double y_at(double share) { return height - bottom - share * (height - top - bottom); }

struct axis {
  double low;
  double high;
  double share(double value) const { return (value - low) / (high - low); }
};

template <class... Values>
void put(std::string& out, char const* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  out += text;
}

void line(std::string& out, char const* colour, std::span<double const> shares) {
  put(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", colour);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (!std::isfinite(shares[i])) continue;
    put(out, "%.1f,%.1f ", x_at(shares.size() > 1 ? static_cast<double>(i) / static_cast<double>(shares.size() - 1) : 0.5), y_at(shares[i]));
  }
  out += "\"/>\n";
}

}  // namespace

std::string learning_curve_svg(std::span<epoch_result const> epochs) {
  axis decades{0, 1};  // of the loss
  axis const accuracy{0, 1};
  bool any = false;
  for (epoch_result const& each : epochs) {
    if (!std::isfinite(each.loss) || each.loss <= 0) continue;
    double const decade = std::log10(each.loss);
    decades.low = any ? std::min(decades.low, std::floor(decade)) : std::floor(decade);
    decades.high = std::max(any ? std::max(decades.high, std::ceil(decade)) : std::ceil(decade), decades.low + 1);
    any = true;
  }
  std::string out;
  put(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" font-size=\"11\">\n", width, height);
  put(out, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
  for (double decade = decades.low; decade <= decades.high; ++decade) {
    double const y = y_at(decades.share(decade));
    put(out, "<line x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", left, y, width - right, y);
    put(out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#b33\">%g</text>\n", left - 6, y + 4, std::pow(10.0, decade));
  }
  for (int percent = 0; percent <= 100; percent += 20) {
    put(out, "<text x=\"%.0f\" y=\"%.1f\" fill=\"#36a\">%d %%</text>\n", width - right + 6, y_at(percent / 100.0) + 4, percent);
  }
  put(out, "<text x=\"%.0f\" y=\"%.0f\">1</text>\n", left, height - bottom + 16);
  put(out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">epoch %zu</text>\n", width - right, height - bottom + 16, epochs.size());
  put(out, "<text x=\"%.0f\" y=\"16\" fill=\"#b33\">training loss</text>\n", left);
  put(out, "<text x=\"%.0f\" y=\"16\" text-anchor=\"end\" fill=\"#36a\">held-out accuracy</text>\n", width - right);
  std::vector<double> shares;
  for (epoch_result const& each : epochs) shares.push_back(each.loss > 0 ? decades.share(std::log10(each.loss)) : NAN);
  line(out, "#b33", shares);
  shares.clear();
  for (epoch_result const& each : epochs) shares.push_back(accuracy.share(each.accuracy));
  line(out, "#36a", shares);
  return out + "</svg>\n";
}

}  // namespace lull
