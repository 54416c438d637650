// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/text_record.hpp>

#include <algorithm>

namespace lull {
namespace {

constexpr bool blank(char byte) noexcept { return byte == ' ' || byte == '\t' || byte == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// How many bytes the first sign of a text has; 0: it is no UTF-8 (RFC 3629).
std::size_t sign_bytes(std::string_view text) {
  auto const byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  unsigned const first = byte(0);
  if (first < 0x80) return 1;
  std::size_t const size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (std::size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return 0;
  }
  bool const too_long = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  bool const surrogate = first == 0xed && byte(1) >= 0xa0;
  return too_long || surrogate || (first == 0xf4 && byte(1) >= 0x90) ? 0 : size;
}

/// Whether a sign of UTF-8 is not for reading: controls, line ends, marks that turn the order of signs.
bool is_control(std::string_view sign) {
  if (sign.size() == 1) return static_cast<unsigned char>(sign[0]) < ' ' || sign[0] == '\x7f';
  if (sign.size() == 2) return sign[0] == '\xc2' && static_cast<unsigned char>(sign[1]) < 0xa0;
  std::string_view const last = sign.substr(0, 3);
  return (last >= "\xe2\x80\xa8" && last <= "\xe2\x80\xae") || (last >= "\xe2\x81\xa6" && last <= "\xe2\x81\xa9");
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::size_t const size = sign_bytes(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

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
      if (!runs || *at == '\r') skip();  // a blank after the quote divides fields itself
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

std::string clean_text(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string clean;
  while (!text.empty()) {
    auto const size = sign_bytes(text);
    std::string_view const sign = size == 0 || is_control(text.substr(0, size)) ? "?" : text.substr(0, size);
    if (clean.size() + sign.size() > most) return clean + "…";
    clean += sign;
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return clean;
}

std::vector<std::string> divide_names(std::string_view list) {
  std::string const line = std::string{list} + "\n";
  text_record record;
  divide_record(line.data(), line.data() + line.size(), ",", record);
  return {record.fields.begin(), record.fields.end()};
}

}  // namespace lull
