// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/text_header.hpp>

#include <algorithm>
#include <cstdint>

namespace lull::detail {
namespace {

/// Whether all numbers of the first row are names as pandas gives them: 0, 1, 2 and so on, or from 1. One column of row
/// numbers may stand before them, and words after them. True where there is no number.
bool counts_columns(row const& first) {
  auto const number = [](std::string const& field) { return is_number(spelling_of(field)); };
  auto const begin = std::find_if(first.begin(), first.end(), number);
  if (begin == first.end()) return true;
  auto const end = std::find_if_not(begin, first.end(), number);
  auto const from = whole_number(*begin);
  if (begin - first.begin() > 1 || !from || *from > 1 || std::any_of(end, first.end(), number)) return false;
  for (auto at = begin; at != end; ++at) {
    if (whole_number(*at) != *from + static_cast<std::uint64_t>(at - begin)) return false;
  }
  return true;
}

}  // namespace

bool find_header(std::vector<row> const& rows, std::string& doubt) {
  row const& first = rows.front();
  std::size_t numbers = 0;
  std::size_t words = 0;
  for (std::string const& field : first) {
    numbers += is_number(spelling_of(field)) ? 1 : 0;
    words += spelling_of(field) == spelling::word ? 1 : 0;
  }
  if (rows.size() == 1) return numbers == 0 && words != 0;
  if (!counts_columns(first)) return false;
  auto const below = columns_below(rows);
  bool word_over_number = false;
  bool number_over_word = false;
  bool whole_over_sign = false;  // each number below has a decimal sign
  for (std::size_t column = 0; column < first.size(); ++column) {
    auto const spelt = spelling_of(first[column]);
    word_over_number = word_over_number || (spelt == spelling::word && below[column].number());
    number_over_word = number_over_word || (is_number(spelt) && below[column].word());
    whole_over_sign = whole_over_sign || (spelt == spelling::whole && below[column].numbers + 1 == rows.size() &&
                                          below[column].with_sign == below[column].numbers);
  }
  if (word_over_number) return true;
  bool const all_counted = numbers + (first.front().empty() ? 1 : 0) == first.size() && numbers > 1;
  if (!all_counted) return false;
  if (numbers >= 5 || number_over_word || whole_over_sign || first.front().empty()) return true;
  doubt =
      "its first line counts from " + first.front() + " and is read as a row: if it names the columns, give header=yes";
  return false;
}

}  // namespace lull::detail
