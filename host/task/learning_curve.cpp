// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/learning_curve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

namespace lull {

namespace {

constexpr double width = 640;
constexpr double height = 360;
constexpr double side = 60;  // room on the left and on the right
constexpr double top = 24;
constexpr double bottom = 40;

constexpr char const* left_colour = "#bb3333";
constexpr char const* right_colour = "#3366aa";

__attribute__((format(printf, 1, 2))) std::string printed(char const* format, ...) {
  std::va_list values;
  std::va_list again;
  va_start(values, format);
  va_copy(again, values);
  std::string text(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, format, values)), ' ');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(values);
  return text;
}

/// Return where a share of the plot's width or height lies.
double x_at(double share) { return side + share * (width - 2 * side); }
double y_at(double share) { return height - bottom - share * (height - top - bottom); }

/// An axis, in values or, if it is logarithmic, in their exponents.
struct scale {
  curve_axis axis;
  double low = 0;
  double high = 1;
  double step = 1;  // between two marks

  bool is_logarithmic() const { return axis == curve_axis::logarithmic; }
  bool draws(double value) const { return std::isfinite(value) && (!is_logarithmic() || value > 0); }
  double at(double value) const { return is_logarithmic() ? std::log10(value) : value; }
  double y(double place) const { return y_at((place - low) / (high - low)); }
  std::string mark(double place) const {
    if (axis == curve_axis::share) return printed("%.0f %%", 100 * place);
    return printed("%g", is_logarithmic() ? std::pow(10.0, place) : place);
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
  std::vector<double> places;
  for (double const each : values) {
    if (made.draws(each)) places.push_back(made.at(each));
  }
  if (axis == curve_axis::share) made.step = 0.2;
  if (axis == curve_axis::share || places.empty()) return made;
  auto const [least, most] = std::minmax_element(places.begin(), places.end());
  if (made.is_logarithmic()) {
    made.low = std::floor(*least);
    made.high = std::max(std::ceil(*most), made.low + 1);
  } else {
    made.step = step_to(*most);
    made.high = made.step * std::max(1.0, std::ceil(*most / made.step));
  }
  return made;
}

std::string text_at(double x, double y, std::string const& text, char const* colour, char const* anchor) {
  return printed("<text x=\"%g\" y=\"%g\" fill=\"%s\" text-anchor=\"%s\">%s</text>\n", x, y, colour, anchor,
                 text.c_str());
}

/// One axis with its marks, and the curve on it; the grid is that of the left one.
std::string drawn(epoch_curve const& curve, scale const& on, bool is_left) {
  char const* const colour = is_left ? left_colour : right_colour;
  char const* const anchor = is_left ? "end" : "start";
  double const x = is_left ? side - 6 : width - side + 6;
  std::string made = is_left ? text_at(side, 16, std::string{curve.name}, colour, "start")
                             : text_at(width - side, 16, std::string{curve.name}, colour, "end");
  for (int i = 0; i <= std::lround((on.high - on.low) / on.step); ++i) {
    double const place = on.low + i * on.step;
    double const y = on.y(place);
    if (is_left)
      made += printed("<line x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\" stroke=\"#dddddd\"/>\n", side, y, width - side, y);
    made += text_at(x, y + 4, on.mark(place), colour, anchor);
  }
  made += "<polyline points=\"";
  std::size_t const count = curve.values.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!on.draws(curve.values[i])) continue;
    double const share = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0.5;
    made += printed("%s%g,%g", made.back() == '"' ? "" : " ", x_at(share), on.y(on.at(curve.values[i])));
  }
  return made + printed("\" fill=\"none\" stroke=\"%s\"/>\n", colour);
}

}  // namespace

std::string learning_curve_svg(std::string_view title, epoch_curve const& left, epoch_curve const& right) {
  std::vector<double> both = left.values;
  both.insert(both.end(), right.values.begin(), right.values.end());
  bool const shared = left.axis == curve_axis::linear && right.axis == curve_axis::linear;
  std::size_t const epochs = std::max(left.values.size(), right.values.size());
  return printed(
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" "
             "height=\"%g\" font-size=\"11\" viewBox=\"0 0 %g %g\" role=\"img\" aria-labelledby=\"title\" "
             "font-family=\"sans-serif\">\n<title id=\"title\">%s</title>\n"
             "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
             width, height, width, height, std::string{title}.c_str()) +
         drawn(left, scale_of(left.axis, shared ? both : left.values), true) +
         drawn(right, scale_of(right.axis, shared ? both : right.values), false) +
         text_at(side, height - bottom + 16, "1", "#111111", "start") +
         text_at(width - side, height - bottom + 16, "epoch " + std::to_string(epochs), "#111111", "end") + "</svg>\n";
}

}  // namespace lull
