// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/text_sample.hpp>

#include <algorithm>
#include <charconv>

#include <lull/host/io/text_number.hpp>
#include <lull/host/io/text_record.hpp>

namespace lull::detail {

constexpr std::size_t max_sample_rows = 100;

spelling spelling_of(std::string_view field) {
  if (field.empty()) return spelling::empty;
  double number = 0;
  if (field.find_first_not_of("+-.,0123456789eE") != field.npos) return spelling::word;
  char const decimal = field.find(',') != field.npos ? ',' : '.';
  if (read_number(field, number, decimal) == number_reading::no_number) return spelling::word;
  if (decimal == ',') return spelling::with_comma;
  return field.find('.') != field.npos ? spelling::with_point : spelling::whole;
}

std::string lower_case(std::string_view text) {
  std::string lower;
  for (char const byte : text) lower += byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
  return lower;
}

std::optional<std::uint64_t> exact_whole(std::string_view field) {
  std::uint64_t number = 0;
  auto const [rest, code] = std::from_chars(field.data(), field.data() + field.size(), number);
  bool const plain = code == std::errc{} && rest == field.data() + field.size() && (field == "0" || field[0] != '0');
  return plain ? std::optional{number} : std::nullopt;
}

bool may_group_thousands(std::string_view field) {
  if (field.starts_with('-') || field.starts_with('+')) field.remove_prefix(1);
  auto const sign = field.find_first_of(".,");
  if (sign == field.npos || sign == 0 || sign > 3 || field.size() != sign + 4 || field.front() == '0') return false;
  return std::count_if(field.begin(), field.end(), [](char byte) { return byte >= '0' && byte <= '9'; }) + 1 ==
         static_cast<std::ptrdiff_t>(field.size());
}

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

std::vector<std::uint64_t> whole_numbers(std::vector<row> const& rows, std::size_t begin, std::size_t column) {
  std::vector<std::uint64_t> made;
  for (std::size_t at = begin; at < rows.size(); ++at) {
    auto const number = column < rows[at].size() ? exact_whole(rows[at][column]) : std::nullopt;
    if (!number) return {};
    made.push_back(*number);
  }
  return made;
}

}  // namespace lull::detail
