// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/text_dialect.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <lull/host/io/text_header.hpp>
#include <lull/host/io/text_sample.hpp>

namespace lull {
namespace {

using detail::column_below;
using detail::is_number;
using detail::row;
using detail::spelling;
using detail::spelling_of;

/// Larger is better: fields that are numbers; rows of numbers alone; rows that have as many fields as most have.
using fit = std::tuple<std::size_t, std::size_t, std::size_t>;

/// A delimiter that divides no two fields, as at a line's end, is no sign of columns.
bool is_divided(row const& of) {
  return std::count_if(of.begin(), of.end(), [](std::string const& field) { return !field.empty(); }) > 1;
}

fit fit_of(std::vector<row> rows) {
  std::erase_if(rows, [](row const& each) { return !is_divided(each); });
  std::map<std::size_t, std::size_t> widths;
  for (row const& each : rows) ++widths[each.size()];
  std::size_t width = 0;
  std::size_t most = 0;
  for (auto const& [columns, count] : widths) {
    if (columns > 1 && count >= most) std::tie(width, most) = std::pair{columns, count};
  }
  fit made{0, 0, most};
  for (row const& each : rows) {
    if (each.size() != width) continue;
    auto const numbers = static_cast<std::size_t>(std::count_if(
        each.begin(), each.end(), [](std::string const& field) { return is_number(spelling_of(field)); }));
    std::get<0>(made) += numbers;
    std::get<1>(made) += numbers == width ? 1 : 0;
  }
  return made;
}

std::string find_delimiter(std::string_view text) {
  std::string best = ",";
  fit best_fit{0, 0, 0};
  bool divides_all = false;  // a sign that seldom stands within text does, into numbers
  bool divided = false;      // such a sign divides all rows
  for (std::string const each : {",", ";", "\t", "|", "::", ":", " "}) {
    auto const rows = detail::rows_of(text, each);
    auto const found = fit_of(rows);
    auto const [numbers, rows_of_numbers, alike] = found;
    // Blanks stand within text, too: `1;text 5;3` has more numbers between blanks, but not numbers alone.
    if (each == " " && divides_all && rows_of_numbers + 1 < rows.size()) break;
    if (each == ":" && divided) continue;  // it stands within times: `1:30,2:40`
    if (each.size() == 1 && each != ":") divided = divided || (!rows.empty() && alike == rows.size());
    if (each.size() == 1 && each != ":") divides_all = divides_all || (numbers != 0 && alike == rows.size());
    if (found <= best_fit) continue;
    best_fit = found;
    best = each;
  }
  return best;
}

bool counts_up(std::vector<std::uint64_t> const& numbers) {
  auto const is_gap = [](std::uint64_t before, std::uint64_t after) { return after != before + 1; };
  return numbers.size() > 1 && numbers.front() <= 1 &&
         std::adjacent_find(numbers.begin(), numbers.end(), is_gap) == numbers.end();
}

bool are_different(std::vector<std::uint64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return !numbers.empty() && std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

void add_doubt(std::string& doubts, std::string const& doubt) {
  doubts += (doubts.empty() || doubt.empty() ? "" : "; ") + doubt;
}

/// What to say where each number with a sign could be a whole number with a sign of thousands.
std::string thousands_doubt(std::vector<row> const& rows, std::size_t begin) {
  std::string first;
  for (std::size_t at = begin; at < rows.size(); ++at) {
    for (std::string const& field : rows[at]) {
      auto const spelt = spelling_of(field);
      if (spelt != spelling::with_point && spelt != spelling::with_comma) continue;
      if (!detail::may_group_thousands(field)) return {};
      if (first.empty()) first = field;
    }
  }
  if (first.empty()) return {};
  std::string const sign = first.find(',') != first.npos ? "comma" : "point";
  return "each number with a " + sign + " has three digits after it, as " + first + ": if the " + sign +
         " separates thousands, take it out";
}

/// Whether the first column can only be row names: different words, or numbers that count from 1.
bool are_row_names(std::vector<row> const& rows) {
  std::set<std::string_view> words;
  for (std::size_t at = 1; at < rows.size(); ++at) {
    if (spelling_of(rows[at][0]) == spelling::word) words.insert(rows[at][0]);
  }
  if (words.size() + 1 == rows.size()) return words.size() > 1;
  auto const numbers = detail::whole_numbers(rows, 1, 0);
  return !numbers.empty() && numbers.front() == 1 && counts_up(numbers);
}

/// Finds what is wrong with a first row that has not as many fields as the rows below have. Returns true if it is a
/// header of R's `write.table`, which has no name for the row names.
bool lacks_first_name(std::vector<row> const& rows, std::string& fault) {
  if (rows.size() < 2) return false;
  std::size_t const names = rows.front().size();
  std::map<std::size_t, std::ptrdiff_t> counts;
  for (row const& each : rows) ++counts[each.size()];
  auto const fewer = [](auto const& one, auto const& other) {
    return std::pair{one.second, one.first} < std::pair{other.second, other.first};
  };
  auto const [width, wide] = *std::max_element(counts.begin(), counts.end(), fewer);
  auto const is_wide = [most = width](row const& each) { return each.size() == most; };
  auto const table = std::find_if(rows.begin(), rows.end(), is_wide);
  auto const lines_above = table - rows.begin();
  if (lines_above == 0 || lines_above > wide) return false;
  auto const is_word = [](std::string const& field) { return spelling_of(field) == spelling::word; };
  bool const words = std::all_of(rows.front().begin(), rows.front().end(), is_word);
  std::string none;
  bool const titled =
      lines_above > 1 || names == 1 || (rows.size() > 2 && detail::find_header({table, rows.end()}, none));
  if (names == 1 && rows[0][0].ends_with(':') && detail::exact_whole(rows[0][0].substr(0, rows[0][0].size() - 1))) {
    fault = "is an id alone, for the rows after it: write the id into each of its rows, and delete the line";
    return false;
  }
  if (titled && std::any_of(rows.front().begin(), rows.front().end(), is_word)) {
    fault = "seems to be a title above the table, which has " + std::to_string(width) + " columns: delete the line";
    return false;
  }
  if (titled || !words || !std::all_of(table, rows.end(), is_wide)) return false;
  bool const ends_rows = std::all_of(table, rows.end(), [](row const& each) { return each.back().empty(); });
  if (!ends_rows && names + 1 == width && are_row_names(rows)) return true;
  fault = "has names for " + std::to_string(names) + " columns, but the rows have " + std::to_string(width) + ": " +
          (names > width       ? "quote a name that holds the delimiter, or delete the line if it is a title"
           : ends_rows         ? "if each row ends in a delimiter, take it out, or end this line in one, too"
           : names + 1 < width ? "add the other names, or delete the line if it is a title"
                               : "the first column may be row names, or any name may be missing: add the name (in R: "
                                 "write.table(…, col.names = NA))");
  return false;
}

}  // namespace

text_dialect find_dialect(std::string_view text, dialect_options const& given) {
  text_dialect made;
  made.delimiter = given.delimiter.empty() ? find_delimiter(text) : given.delimiter;
  made.decimal = given.decimal;
  auto rows = detail::rows_of(text, made.delimiter);
  if (rows.empty()) return made;
  bool const row_names = given.header.value_or(true) && lacks_first_name(rows, made.fault);
  if (row_names) rows.front().insert(rows.front().begin(), "");
  made.header = given.header.value_or(false);
  if (!given.header) made.header = row_names || detail::find_header(rows, made.doubt);
  if (made.decimal == '\0' && made.delimiter == ",") made.decimal = '.';
  std::size_t const begin = made.header ? 1 : 0;
  std::vector<column_below> columns(rows.front().size());
  for (std::size_t at = begin; at < rows.size(); ++at) {
    for (std::size_t column = 0; column < std::min(columns.size(), rows[at].size()); ++column) {
      auto const spelt = spelling_of(rows[at][column]);
      columns[column].numbers += is_number(spelt) ? 1 : 0;
      columns[column].words += spelt == spelling::word ? 1 : 0;
      if (made.decimal != '\0') continue;
      if (spelt == spelling::with_point) made.decimal = '.';
      if (spelt == spelling::with_comma) made.decimal = ',';
    }
  }
  if (given.decimal == '\0' && made.delimiter != ",") add_doubt(made.doubt, thousands_doubt(rows, begin));
  for (std::size_t column = 0; column < columns.size(); ++column) {
    auto const numbers = detail::whole_numbers(rows, begin, column);
    made.columns.push_back({.name = made.header ? rows.front()[column] : "",
                            .number = columns[column].number(),
                            .words = columns[column].words != 0,
                            .counts_up = counts_up(numbers),
                            .different = column == 0 && are_different(numbers),
                            .from_name = made.header,
                            .row_names = row_names && column == 0});
  }
  return made;
}

bool find_commented_header(std::string const& comment, std::string_view text, dialect_options const& given,
                           text_dialect& found) {
  if (comment.empty() || !given.header.value_or(true)) return false;
  dialect_options without = given;
  without.header.reset();
  text_dialect const below = find_dialect(text, without);
  if (below.header || below.columns.size() < 2) return false;
  auto const names = detail::rows_of(comment, below.delimiter);
  if (names.size() != 1 || names[0].size() != below.columns.size()) return false;
  auto const is_name = [](std::string const& field) { return spelling_of(field) == spelling::word; };
  if (!std::all_of(names[0].begin() + 1, names[0].end(), is_name) || is_number(spelling_of(names[0][0]))) return false;
  without.delimiter = below.delimiter;
  without.header = true;
  found = find_dialect(comment + std::string{text}, without);
  found.header_is_comment = true;
  return true;
}

std::string to_string(text_dialect const& dialect) {
  static std::map<std::string, char const*> const names{{",", "commas"}, {";", "semicolons"}, {"\t", "tabs"},
                                                        {"|", "bars"},   {"::", "`::`"},      {":", "colons"},
                                                        {" ", "blanks"}};
  auto const found = names.find(dialect.delimiter);
  bool const row_names = !dialect.columns.empty() && dialect.columns[0].row_names;
  return std::string{"separated by "} + (found != names.end() ? found->second : "another sign") +
         (dialect.delimiter_line ? " as its first line says" : "") +
         (dialect.decimal == ',' ? ", decimal commas" : "") +
         (dialect.decimal == '.' && dialect.delimiter != "," ? ", decimal points" : "") +
         (!dialect.header             ? ", no line of names"
          : dialect.header_is_comment ? ", names in the comment before the rows"
          : dialect.delimiter_line    ? ", names in the line after it"
                                      : ", names in the first line") +
         (row_names ? ", which has none for the row names, as R writes them" : "");
}

std::string list_columns(text_dialect const& dialect) {
  constexpr std::size_t shown = 12;
  std::string list;
  for (std::size_t column = 0; column < std::min(dialect.columns.size(), shown); ++column)
    list += (column == 0 ? "`" : ", `") + clean_text(dialect.columns[column].name) + "`";
  return list + (dialect.columns.size() > shown ? ", …" : "");
}

std::string no_column(text_dialect const& dialect, std::string const& wanted) {
  return "there is no column `" + wanted + "`; the file has " + std::to_string(dialect.columns.size()) +
         (dialect.header ? " columns: " + list_columns(dialect)
                         : " columns and no line of names: give a number from 1");
}

std::string column_text(text_dialect const& dialect, std::size_t column) {
  std::string const number = "column " + std::to_string(column + 1);
  if (column >= dialect.columns.size() || dialect.columns[column].name.empty()) return number;
  return number + " (" + clean_text(dialect.columns[column].name) + ")";
}

std::optional<std::size_t> find_column(text_dialect const& dialect, std::string_view wanted) {
  auto const& all = dialect.columns;
  auto const named = [&](auto const& is_it) -> std::optional<std::size_t> {
    auto const found = dialect.header ? std::find_if(all.begin(), all.end(), is_it) : all.end();
    return found != all.end() ? std::optional{static_cast<std::size_t>(found - all.begin())} : std::nullopt;
  };
  if (auto const found = named([&](text_column const& each) { return each.name == wanted; })) return found;
  std::int64_t number = 0;
  auto const [rest, code] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (code != std::errc{} || rest != wanted.data() + wanted.size()) {
    std::string const plain = plain_name(wanted);
    return plain.empty() ? std::nullopt
                         : named([&](text_column const& each) { return plain_name(each.name) == plain; });
  }
  auto const count = static_cast<std::int64_t>(all.size());
  if (number == 0 || number > count || number < -count) return std::nullopt;
  return static_cast<std::size_t>(number > 0 ? number - 1 : count + number);
}

std::string plain_name(std::string_view name) {
  std::string plain;
  for (char const byte : name) {
    if (byte >= 'A' && byte <= 'Z') plain += static_cast<char>(byte - 'A' + 'a');
    if ((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || static_cast<unsigned char>(byte) >= 0x80)
      plain += byte;
  }
  return plain;
}

bool is_row_number(text_column const& column) {
  if (column.row_names) return true;
  if (!column.from_name) return false;
  std::string const name = plain_name(column.name);
  if (column.name.empty() || name.starts_with("unnamed0")) return column.counts_up || column.different;
  constexpr std::array<std::string_view, 5> known{"index", "id", "rownames", "row", "rownumber"};
  return column.counts_up && std::find(known.begin(), known.end(), name) != known.end();
}

}  // namespace lull
