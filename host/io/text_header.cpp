// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/text_header.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include <lull/host/io/text_number.hpp>

namespace lull::detail {
namespace {

/// Whether a first row may have this field for a name: a word that is not one of those for a missing value. These are
/// more than is_missing_mark of tasks/mlp knows, because here a wrong guess loses a row; there it would refuse a class
/// called `none` or `-`.
bool is_name(std::string_view field) {
  if (spelling_of(field) != spelling::word) return false;
  std::string const lower = lower_case(field);
  constexpr std::array<std::string_view, 12> missing{"na",   "n/a",     "#n/a", "nan", "-nan", "null",
                                                     "none", "missing", "?",    "-",   "--",   "."};
  double number = 0;  // `inf` is one
  return std::find(missing.begin(), missing.end(), lower) == missing.end() &&
         read_number(field, number) == number_reading::no_number;
}

/// Whether people call a column of classes so.
bool is_label_name(std::string_view field) {
  std::string const lower = lower_case(field);
  constexpr std::array<std::string_view, 10> known{"label",   "labels",  "target",   "class",     "classes",
                                                   "outcome", "species", "category", "diagnosis", "y"};
  return std::find(known.begin(), known.end(), lower) != known.end();
}

/// Whether all numbers of the first row are names as pandas gives them: 0, 1, 2 and so on, or from 1. One column of row
/// numbers may stand before them, and words after them. True where there is no number.
bool counts_columns(row const& first) {
  auto const number = [](std::string const& field) { return is_number(spelling_of(field)); };
  auto const begin = std::find_if(first.begin(), first.end(), number);
  if (begin == first.end()) return true;
  auto const end = std::find_if_not(begin, first.end(), number);
  auto const from = exact_whole(*begin);
  if (begin - first.begin() > 1 || !from || *from > 1 || std::any_of(end, first.end(), number)) return false;
  for (auto at = begin; at != end; ++at) {
    if (exact_whole(*at) != *from + static_cast<std::uint64_t>(at - begin)) return false;
  }
  return true;
}

/// How many numbers the first row has, if all go up or all go down, as years and wavelengths do; 0 if not.
std::size_t series_length(row const& first) {
  std::vector<double> numbers;
  for (std::string const& field : first) {
    double number = 0;
    char const decimal = field.find(',') != field.npos ? ',' : '.';
    if (is_number(spelling_of(field)) && read_number(field, number, decimal) == number_reading::number)
      numbers.push_back(number);
  }
  auto const is_fall = [](double one, double next) { return !(one < next); };
  auto const is_rise = [](double one, double next) { return !(one > next); };
  bool const series = std::adjacent_find(numbers.begin(), numbers.end(), is_fall) == numbers.end() ||
                      std::adjacent_find(numbers.begin(), numbers.end(), is_rise) == numbers.end();
  return series ? numbers.size() : 0;
}

enum class use { none, some, repeated };

/// How the rows below use the first row's word in its column: `some` of them have it, or `none`; `repeated`: none has
/// it, and each other word stands there twice at least.
use use_below(std::vector<row> const& rows, std::size_t column) {
  std::map<std::string_view, std::size_t> counts;
  for (std::size_t at = 1; at < rows.size(); ++at) {
    if (column < rows[at].size()) ++counts[rows[at][column]];
  }
  if (counts.contains(rows.front()[column])) return use::some;
  auto const repeats = [](auto const& each) { return each.second > 1; };
  return !counts.empty() && std::all_of(counts.begin(), counts.end(), repeats) ? use::repeated : use::none;
}

/// For a first row of words and numbers that alone do not tell: 400, 402, 404 and `label`.
bool find_series_header(std::vector<row> const& rows, std::vector<column_below> const& below, std::string& doubt) {
  row const& first = rows.front();
  std::size_t names = 0;  // that stand in no row below
  std::size_t word_columns = 0;
  bool name_over_numbers = false;
  std::optional<std::size_t> name_over_words;
  for (std::size_t column = 0; column < first.size(); ++column) {
    bool const name = is_name(first[column]);
    if (name && is_label_name(first[column]) && below[column].number()) return true;
    names += name && use_below(rows, column) != use::some ? 1 : 0;
    name_over_numbers = name_over_numbers || (name && below[column].number());
    word_columns += below[column].word() ? 1 : 0;
    bool const date = first[column].find_first_of("0123456789") == 0;
    if (name && !date && below[column].word()) name_over_words = column;
  }
  if (name_over_numbers && names > 1 && series_length(first) > 1) return true;
  if (!name_over_words || word_columns != 1) return false;
  std::string const& name = first[*name_over_words];
  auto const used = use_below(rows, *name_over_words);
  if (used == use::some) return false;
  if (is_label_name(name)) return true;
  if (series_length(first) == 0) return false;
  bool const header = used == use::repeated;
  doubt = "the first line has a word that no other has in its column, and " +
          std::string{header ? "names the columns: if it is a row, give header=no"
                             : "is read as a row: if it names the columns, give header=yes"};
  return header;
}

}  // namespace

bool find_header(std::vector<row> const& rows, std::string& doubt) {
  row const& first = rows.front();
  std::size_t numbers = 0;
  std::size_t names = 0;
  for (std::string const& field : first) {
    numbers += is_number(spelling_of(field)) ? 1 : 0;
    names += is_name(field) ? 1 : 0;
  }
  if (rows.size() == 1) return numbers == 0 && names != 0;
  auto const below = columns_below(rows);
  if (!counts_columns(first)) return find_series_header(rows, below, doubt);
  bool name_over_number = false;
  bool number_over_word = false;
  bool whole_over_sign = false;  // each number below has a decimal sign
  for (std::size_t column = 0; column < first.size(); ++column) {
    auto const spelt = spelling_of(first[column]);
    name_over_number = name_over_number || (is_name(first[column]) && below[column].number());
    number_over_word = number_over_word || (is_number(spelt) && below[column].word());
    whole_over_sign = whole_over_sign || (spelt == spelling::whole && below[column].numbers + 1 == rows.size() &&
                                          below[column].with_sign == below[column].numbers);
  }
  if (name_over_number) return true;
  // pandas leaves the first name empty, over the rows' numbers or names.
  bool const index = first.front().empty() && (below[0].word() || !whole_numbers(rows, 1, 0).empty());
  bool const all_counted = numbers + (index ? 1 : 0) == first.size() && numbers > 1;
  if (!all_counted) return numbers != 0 && find_series_header(rows, below, doubt);
  if (numbers >= 5 || number_over_word || whole_over_sign || index) return true;
  doubt =
      "its first line counts from " + first.front() + " and is read as a row: if it names the columns, give header=yes";
  return false;
}

}  // namespace lull::detail
