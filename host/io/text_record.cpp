// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/text_record.hpp>

namespace lull {
namespace {

constexpr bool blank(char byte) noexcept { return byte == ' ' || byte == '\t' || byte == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
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

std::vector<std::string> divide_names(std::string_view list) {
  std::string const line = std::string{list} + "\n";
  text_record record;
  divide_record(line.data(), line.data() + line.size(), ",", record);
  return {record.fields.begin(), record.fields.end()};
}

}  // namespace lull
