// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/stray_line.hpp>

#include <algorithm>
#include <array>

#include <lull/host/io/text_sample.hpp>

namespace lull {
namespace {

bool is_ruled(std::vector<std::string_view> const& fields) {
  std::size_t signs = 0;
  for (std::string_view const field : fields) {
    if (field.find_first_not_of("-=_+*|:~ ") != field.npos) return false;
    signs += field.size();
  }
  return signs > 2;
}

bool is_summary(std::string_view field) {
  std::string const text = detail::lower_case(field);
  std::string_view const word = std::string_view{text}.substr(0, text.find_first_of(" :=("));
  constexpr std::array<std::string_view, 16> words{"total", "totals",  "subtotal", "grand",  "sum",    "sums",
                                                   "mean",  "average", "avg",      "avg.",   "median", "count",
                                                   "min",   "max",     "std",      "summary"};
  return std::find(words.begin(), words.end(), word) != words.end() ||
         (text.starts_with('(') && text.find(" row") != text.npos);
}

}  // namespace

std::string stray_line(std::vector<std::string_view> const& fields) {
  auto const found = std::find_if(fields.begin(), fields.end(), [](auto field) { return !field.empty(); });
  if (found == fields.end()) return "a line of a spreadsheet without values";
  if (is_ruled(fields)) return "a line of dashes";
  if (found->starts_with('#') || found->starts_with('%') || found->starts_with("//")) return "a comment";
  if (is_summary(*found)) return "a total or a summary of the table";
  bool const text = std::all_of(fields.begin(), fields.end(), [](std::string_view field) {
    return field.empty() || detail::spelling_of(field) == detail::spelling::word;
  });
  return fields.size() == 1 && text ? "a remark" : "";
}

bool find_delimiter_line(std::string_view line, std::string& delimiter) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > 2 && line.starts_with('"') && line.ends_with('"')) line = line.substr(1, line.size() - 2);
  if (line.size() > 6 || detail::lower_case(line.substr(0, 4)) != "sep=") return false;
  std::string_view const sign = line.substr(4);
  constexpr std::string_view known = ",;\t|: ";
  delimiter = sign.size() == 1 && known.find(sign[0]) != known.npos ? std::string{sign} : "";
  return true;
}

}  // namespace lull
