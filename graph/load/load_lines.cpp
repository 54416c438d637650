// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <lull/graph/load/load_lines.hpp>

namespace lull::detail {
namespace {

constexpr std::size_t max_digits = 19;  // 20 may wrap

constexpr bool blank(char byte) noexcept { return byte == ' ' || byte == '\t'; }

// The quick readers below lean on the line feed that ends every text: no byte of theirs is past it.

bool skip_blanks(char const*& at) noexcept {
  auto const* const begin = at;
  while (blank(*at)) ++at;
  return at != begin;
}

bool read_digits(char const*& at, std::uint64_t& number) noexcept {
  auto const* const begin = at;
  number = 0;
  for (unsigned digit; (digit = static_cast<unsigned char>(*at) - unsigned{'0'}) <= 9; ++at)
    number = number * 10 + digit;
  auto const digits = static_cast<std::size_t>(at - begin);
  return digits >= 1 && digits <= max_digits;
}

bool read_weight(char const*& at, char const* end, float& weight) noexcept {
  auto const* whole_end = at;
  std::uint64_t whole = 0;
  // whole numbers take a third of the time of others
  if (read_digits(whole_end, whole) && static_cast<unsigned char>(*whole_end) <= ' ') {
    at = whole_end;
    weight = static_cast<float>(whole);
    return true;
  }
  if (*at == '+' && at[1] != '-') {  // allowed by C and Fortran, not by from_chars
    ++at;
  }
  auto const [rest, code] = std::from_chars(at, end, weight);
  at = rest;
  return code == std::errc{} && std::isfinite(weight);
}

bool end_line(char const*& at) noexcept {
  skip_blanks(at);
  if (*at == '\r') ++at;
  return *at == '\n';
}

/// What is wrong with a line that the quick way refused; nothing if it is a comment or blank.
std::optional<std::string> diagnose(line_grammar const& grammar, std::string_view line) {
  auto words = split_words(line);
  if (words.empty() || (grammar.arcs ? words[0] == "c" : words[0][0] == grammar.comment)) return std::nullopt;
  if (grammar.arcs) {
    if (words[0] == "p") return "a second problem line";
    if (words[0] != "a") return "expected a line `a SOURCE TARGET WEIGHT`, got " + quote(line);
    words.erase(words.begin());
  }
  std::size_t const columns = grammar.weighted ? 3 : 2;
  if (words.size() != columns)
    return std::to_string(words.size()) + " columns" + (grammar.arcs ? " after the `a`" : "") + " instead of " +
           std::to_string(columns) + " (source, target" + (grammar.weighted ? ", weight" : "") + "): " + quote(line);
  std::uint64_t ids[2] = {};
  for (int which = 0; which < 2; ++which) {
    auto const [id, fault] = read_number(words[which]);
    if (!fault.empty()) return "the vertex id " + fault;
    if (id < grammar.first_id) return "the vertex id 0, but this format counts from 1";
    if (id >= grammar.end_id) return "the vertex id " + std::to_string(id) + " is " + grammar.id_limit;
    ids[which] = id;
  }
  if (grammar.lower_triangle && ids[0] < ids[1])
    return "entry (" + std::to_string(ids[0]) + ", " + std::to_string(ids[1]) +
           ") is above the diagonal, but a symmetric matrix is given by its lower triangle";
  if (!grammar.weighted) return "expected `SOURCE TARGET`, got " + quote(line);
  return "the weight " + quote(words.back()) + " is not a finite number that fits a float";
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    auto const end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

number_or_fault read_number(std::string_view word) {
  if (word.empty() || word.find_first_not_of("0123456789") != std::string_view::npos) {
    return {0, quote(word) + (word.starts_with('-') ? " is negative" : " is not a whole number")};
  }
  if (word.size() > max_digits) {
    return {0, quote(word) + " has too many digits (at most " + std::to_string(max_digits) + ")"};
  }
  std::uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return {number, {}};
}

parsed_lines parse_lines(line_grammar const& grammar, std::string_view text, edge* edges, float* weights) {
  parsed_lines parsed;
  auto const* at = text.data();
  auto const* end = at + text.size();
  auto const refuse = [&](std::uint64_t line, std::string message) {
    parsed.fault = line_fault{line, std::move(message)};
  };
  if (auto const* const nul = static_cast<char const*>(std::memchr(at, '\0', text.size())); nul != nullptr) {
    refuse(static_cast<std::uint64_t>(std::count(at, nul, '\n')) + 1, "a NUL byte: this is not a text file");
    return parsed;
  }
  auto const first = grammar.first_id;
  auto const ids = grammar.end_id - grammar.first_id;  // a smaller id wraps, and is too large as well
  std::uint64_t highest = 0;
  auto* next_edge = edges;
  while (at != end) {
    auto const* const begin = at;
    ++parsed.lines;
    std::uint64_t source = 0;
    std::uint64_t target = 0;
    float weight = 0;
    skip_blanks(at);
    bool read = true;
    if (grammar.arcs) {
      read = *at == 'a' && blank(at[1]);
      at += read ? 1 : 0;
      skip_blanks(at);
    }
    read = read && read_digits(at, source) && skip_blanks(at) && read_digits(at, target);
    read = read && (!grammar.weighted || (skip_blanks(at) && read_weight(at, end, weight)));
    read = read && end_line(at) && source - first < ids && target - first < ids;
    read = read && !(grammar.lower_triangle && source < target);
    if (!read) at = static_cast<char const*>(std::memchr(begin, '\n', static_cast<std::size_t>(end - begin)));
    if (static_cast<std::size_t>(at - begin) > max_line_bytes) {
      refuse(parsed.lines, "a line of more than " + std::to_string(max_line_bytes) + " bytes");
      break;
    }
    if (!read) {
      if (auto message = diagnose(grammar, {begin, at})) {
        refuse(parsed.lines, std::move(*message));
        break;
      }
      ++at;
      continue;
    }
    ++at;
    source -= first;
    target -= first;
    highest = std::max({highest, source, target});
    *next_edge++ = {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(target)};
    if (grammar.weighted) *weights++ = weight;
  }
  parsed.edges = static_cast<std::size_t>(next_edge - edges);
  parsed.highest = static_cast<std::uint32_t>(highest);
  return parsed;
}

}  // namespace lull::detail
