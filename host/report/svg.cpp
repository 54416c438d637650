// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/svg.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace lull {
namespace {

// At most two decimals, and none that say nothing: a picture of thousands of spans stays small.
std::string number(double value) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.2f", value);
  std::string text = buffer.data();
  text.resize(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string attribute(std::string_view name, double value) {
  return " " + std::string{name} + "=\"" + number(value) + "\"";
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string{name} + "=\"" + xml_text(value) + "\"";
}

// The length of the UTF-8 character at the front, or 0 if there is none (RFC 3629, section 4).
std::size_t character_length(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  std::uint8_t const first = byte(0);
  std::size_t const length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  bool const overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  bool const beyond = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return overlong || beyond ? 0 : length;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    std::size_t const length = character_length(text);
    char const c = text.front();
    if (length == 0 || (static_cast<std::uint8_t>(c) < 0x20 && c != '\n' && c != '\t')) {
      escaped += "\xEF\xBF\xBD";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return escaped;
}

void svg::open(double width, double height, std::string_view title, std::string_view description) {
  content_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"" +
             attribute("width", width) + attribute("height", height) +
             attribute("viewBox", "0 0 " + number(width) + " " + number(height)) +
             " role=\"img\" aria-labelledby=\"title description\""
             " font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n<title id=\"title\">" +
             xml_text(title) + "</title>\n<desc id=\"description\">" + xml_text(description) + "</desc>\n";
  rect(0, 0, width, height, "#ffffff", "", "");
}

void svg::pattern(std::string_view name, std::string_view background, std::string_view stripe) {
  content_ += "<defs><pattern" + attribute("id", name) +
              " width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
              "<rect width=\"8\" height=\"8\"" +
              attribute("fill", background) + "/><rect width=\"2\" height=\"8\"" + attribute("fill", stripe) +
              "/></pattern></defs>\n";
}

void svg::rect(double x, double y, double width, double height, std::string_view fill, std::string_view stroke,
               std::string_view hint) {
  content_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
              attribute("height", height) + attribute("fill", fill);
  if (!stroke.empty()) content_ += attribute("stroke", stroke);
  content_ += hint.empty() ? "/>\n" : "><title>" + xml_text(hint) + "</title></rect>\n";
}

void svg::line(double x1, double y1, double x2, double y2, std::string_view stroke) {
  content_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) + attribute("y2", y2) +
              attribute("stroke", stroke) + "/>\n";
}

void svg::polyline(std::span<point const> points, std::string_view stroke) {
  std::string places;
  for (point const& each : points) places += (places.empty() ? "" : " ") + number(each.x) + "," + number(each.y);
  content_ +=
      "<polyline" + attribute("points", places) + attribute("fill", "none") + attribute("stroke", stroke) + "/>\n";
}

void svg::text(double x, double y, std::string_view text, text_style const& style) {
  if (text.empty()) return;
  content_ += "<text" + attribute("x", x) + attribute("y", y) + attribute("font-size", style.size) +
              attribute("fill", style.fill);
  if (style.weight != "normal") content_ += attribute("font-weight", style.weight);
  if (style.anchor != "start") content_ += attribute("text-anchor", style.anchor);
  content_ += ">" + xml_text(text) + "</text>\n";
}

std::string svg::close() {
  content_ += "</svg>\n";
  return std::move(content_);
}

}  // namespace lull
