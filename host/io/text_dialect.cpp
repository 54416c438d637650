// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/text_dialect.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <tuple>

#include <lull/host/io/text_number.hpp>

namespace lull {
namespace {

constexpr std::size_t max_sample_rows = 100;

constexpr bool blank(char byte) noexcept { return byte == ' ' || byte == '\t' || byte == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// How a field is written. A comma is a decimal sign only where it stands in a field, so beside other delimiters.
enum class spelling { empty, word, whole, with_point, with_comma };

spelling spelling_of(std::string_view field) {
  if (field.empty()) return spelling::empty;
  double number = 0;
  if (field.find_first_not_of("+-.,0123456789eE") != field.npos) return spelling::word;
  char const decimal = field.find(',') != field.npos ? ',' : '.';
  if (read_number(field, number, decimal) == number_reading::no_number) return spelling::word;
  if (decimal == ',') return spelling::with_comma;
  return field.find('.') != field.npos ? spelling::with_point : spelling::whole;
}

bool is_number(spelling of) { return of >= spelling::whole; }

std::optional<std::uint64_t> whole_number(std::string_view field) {
  std::uint64_t number = 0;
  auto const [rest, code] = std::from_chars(field.data(), field.data() + field.size(), number);
  bool const plain = code == std::errc{} && rest == field.data() + field.size() && (field == "0" || field[0] != '0');
  return plain ? std::optional{number} : std::nullopt;
}

using row = std::vector<std::string>;

/// The first rows, without blank lines.
std::vector<row> rows_of(std::string_view text, std::string_view delimiter) {
  std::vector<row> rows;
  text_record record;
  char const* const end = text.data() + text.size();
  for (char const* at = text.data(); at != end && rows.size() < max_sample_rows; at = record.end) {
    divide_record(at, end, delimiter, record);
    if (record.end == nullptr) break;
    if (!is_blank_line({at, static_cast<std::size_t>(record.end - at)}, delimiter))
      rows.emplace_back(record.fields.begin(), record.fields.end());
  }
  return rows;
}

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
  bool divides_all = false;  // a sign that seldom stands within text
  for (std::string const each : {",", ";", "\t", "|", "::", ":", " "}) {
    auto const rows = rows_of(text, each);
    auto const found = fit_of(rows);
    auto const [numbers, rows_of_numbers, alike] = found;
    // Blanks stand within text, too: `1;text 5;3` has more numbers between blanks, but not numbers alone.
    if (each == " " && divides_all && rows_of_numbers + 1 < rows.size()) break;
    if (each.size() == 1 && each != ":") divides_all = divides_all || (numbers != 0 && alike == rows.size());
    if (found <= best_fit) continue;
    best_fit = found;
    best = each;
  }
  return best;
}

/// The kinds of fields below the first row.
struct column_below {
  std::size_t numbers = 0;
  std::size_t words = 0;
  std::size_t with_sign = 0;  // numbers with a decimal sign

  bool number() const { return numbers != 0 && numbers >= words; }
  bool word() const { return words > numbers; }
};

std::vector<column_below> columns_below(std::vector<row> const& rows) {
  std::vector<column_below> made(rows.front().size());
  for (std::size_t at = 1; at < rows.size(); ++at) {
    for (std::size_t column = 0; column < std::min(made.size(), rows[at].size()); ++column) {
      auto const spelt = spelling_of(rows[at][column]);
      made[column].numbers += is_number(spelt) ? 1 : 0;
      made[column].words += spelt == spelling::word ? 1 : 0;
      made[column].with_sign += spelt == spelling::with_point || spelt == spelling::with_comma ? 1 : 0;
    }
  }
  return made;
}

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

/// The column's whole numbers; none if there is something else.
std::vector<std::uint64_t> whole_numbers(std::vector<row> const& rows, std::size_t begin, std::size_t column) {
  std::vector<std::uint64_t> made;
  for (std::size_t at = begin; at < rows.size(); ++at) {
    auto const number = column < rows[at].size() ? whole_number(rows[at][column]) : std::nullopt;
    if (!number) return {};
    made.push_back(*number);
  }
  return made;
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

}  // namespace

bool is_blank_line(std::string_view line, std::string_view delimiter) {
  return line.find_first_not_of(delimiter == "\t" ? " \r\n" : " \t\r\n") == line.npos;
}

void divide_record(char const* at, char const* end, std::string_view delimiter, text_record& record) {
  record.fields.clear();
  record.unescaped.clear();
  record.end = nullptr;
  record.lines = 1;
  record.stray = 0;
  bool const runs = delimiter == " ";
  char const mark = delimiter.front();
  auto const skip = [&] {
    while ((*at == ' ' || *at == '\t' || (*at == '\r' && at[1] == '\n')) && (runs || *at != mark)) ++at;
  };
  auto const ends_field = [&](char const* byte) {
    if (*byte == '\n') return true;
    if (runs) return *byte == ' ' || *byte == '\t';
    return *byte == mark && (delimiter.size() == 1 || byte[1] == delimiter[1]);
  };
  // Pairs of begin and size: a vector of strings moves them when it grows.
  std::vector<std::size_t> escaped;
  for (;;) {
    skip();
    if (*at == '"') {
      char const* const begin = ++at;
      bool doubled = false;
      for (;; ++at) {
        if (at == end) return;  // open
        if (*at == '\n') ++record.lines;
        if (*at != '"') continue;
        if (at + 1 == end || at[1] != '"') break;
        doubled = true;
        ++at;
      }
      std::string_view field{begin, static_cast<std::size_t>(at - begin)};
      if (doubled) {
        std::string& plain = record.unescaped.emplace_back();
        for (std::size_t i = 0; i < field.size(); ++i) {
          plain += field[i];
          if (field[i] == '"') ++i;
        }
        escaped.push_back(record.fields.size());
      }
      record.fields.push_back(trimmed(field));
      ++at;
      skip();
      if (!ends_field(at)) {
        record.stray = record.stray != 0 ? record.stray : record.fields.size();
        while (!ends_field(at)) ++at;
      }
    } else {
      char const* const begin = at;
      while (!ends_field(at)) ++at;
      record.fields.push_back(trimmed({begin, static_cast<std::size_t>(at - begin)}));
    }
    if (runs) {
      skip();
      if (*at == '\n') break;
      continue;
    }
    if (*at == '\n') break;
    at += delimiter.size();
  }
  for (std::size_t i = 0; i < escaped.size(); ++i) record.fields[escaped[i]] = record.unescaped[i];
  record.end = at + 1;
}

text_dialect find_dialect(std::string_view text, dialect_options const& given) {
  text_dialect made;
  made.delimiter = given.delimiter.empty() ? find_delimiter(text) : given.delimiter;
  made.decimal = given.decimal;
  auto const rows = rows_of(text, made.delimiter);
  if (rows.empty()) return made;
  made.header = given.header.value_or(false);
  if (!given.header) made.header = find_header(rows, made.doubt);
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
  for (std::size_t column = 0; column < columns.size(); ++column) {
    auto const numbers = whole_numbers(rows, begin, column);
    made.columns.push_back({.name = made.header ? rows.front()[column] : "",
                            .number = columns[column].number(),
                            .words = columns[column].words != 0,
                            .counts_up = counts_up(numbers),
                            .different = column == 0 && are_different(numbers),
                            .from_name = made.header});
  }
  return made;
}

std::string to_string(text_dialect const& dialect) {
  static std::map<std::string, char const*> const names{{",", "commas"}, {";", "semicolons"}, {"\t", "tabs"},
                                                        {"|", "bars"},   {"::", "`::`"},      {":", "colons"},
                                                        {" ", "blanks"}};
  auto const found = names.find(dialect.delimiter);
  return std::string{"separated by "} + (found != names.end() ? found->second : "another sign") +
         (dialect.decimal == ',' ? ", decimal commas" : "") +
         (dialect.header ? ", names in the first line" : ", no line of names");
}

std::string column_text(text_dialect const& dialect, std::size_t column) {
  std::string const number = "column " + std::to_string(column + 1);
  if (column >= dialect.columns.size() || dialect.columns[column].name.empty()) return number;
  return number + " (" + dialect.columns[column].name.substr(0, 40) + ")";
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
  if (!column.from_name) return false;
  std::string const name = plain_name(column.name);
  if (column.name.empty() || name.starts_with("unnamed0")) return column.counts_up || column.different;
  constexpr std::array<std::string_view, 5> known{"index", "id", "rownames", "row", "rownumber"};
  return column.counts_up && std::find(known.begin(), known.end(), name) != known.end();
}

std::vector<std::string> divide_names(std::string_view list) {
  std::string const line = std::string{list} + "\n";
  text_record record;
  divide_record(line.data(), line.data() + line.size(), ",", record);
  return {record.fields.begin(), record.fields.end()};
}

}  // namespace lull
