// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <lull/graph/load/edge_weights.hpp>
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

/// Between two columns.
template <bool Separated>
bool next_column(char const*& at, char separator) noexcept {
  bool const apart = skip_blanks(at);
  if constexpr (!Separated) return apart;
  if (*at != separator) return false;
  ++at;
  skip_blanks(at);
  return true;
}

bool end_line(char const*& at) noexcept {
  skip_blanks(at);
  if (*at == '\r') ++at;
  return *at == '\n';
}

/// What is wrong with a line that the quick way refused; nothing if it is a comment or blank.
std::optional<std::string> diagnose(line_grammar const& grammar, std::string_view line) {
  auto words = split_words(line, grammar.separator);
  if (grammar.arcs ? words.empty() || words[0] == "c" : is_comment(words, grammar.comments)) return std::nullopt;
  if (grammar.arcs) {
    if (words[0] == "p") return "a second problem line";
    if (words[0] != "a") return "expected a line `a SOURCE TARGET WEIGHT`, got " + quote(line);
    words.erase(words.begin());
  }
  if (auto fault = networkx_fault(line); !fault.empty()) return fault;
  bool const weighted = grammar.weights != weight_column::none;
  std::size_t const columns = weighted ? 3 : 2;
  if (words.size() != columns)
    return std::to_string(words.size()) + " columns" + (grammar.arcs ? " after the `a`" : "") + " instead of " +
           std::to_string(columns) + " (source, target" + (weighted ? ", weight" : "") + "): " + quote(line);
  for (int which = 0; which < 2; ++which) {
    auto const [id, fault] = read_whole(words[which]);
    bool const list = !grammar.arcs && grammar.first_id == 0;
    bool const heading =
        list && which == 0 && !words[which].empty() && std::isalpha(static_cast<unsigned char>(words[which][0])) != 0;
    if (!fault.empty()) return "the vertex id " + fault + (heading ? "; if this is a heading, begin it with #" : "");
    if (id < grammar.first_id) return "the vertex id 0, but this format counts from 1";
    if (id >= grammar.end_id) return "the vertex id " + std::to_string(id) + " is " + grammar.id_limit;
  }
  if (!weighted) return "expected `SOURCE TARGET`, got " + quote(line);
  return "the edge from " + std::string{words[0]} + " to " + std::string{words[1]} + ": " +
         weight_fault(words[2], grammar.weights);
}

/// A number that no float holds, or `nan`: one that underflows is 0.
bool read_extreme(std::string_view word, weight_column column, float& weight) {
  double wide = 0;
  if (std::from_chars(word.data(), word.data() + word.size(), wide).ec != std::errc{})
    wide = std::strtod(std::string{word}.c_str(), nullptr);  // below or above all doubles
  if (!(std::abs(wide) < 1)) return false;
  weight = 0;
  return column != weight_column::lengths || wide >= 0;
}

/// Whether a float from 2^24 on is what a whole number was rounded to.
bool is_rounded(std::string_view word, float weight) noexcept {
  double wide = 0;
  std::from_chars(word.data(), word.data() + word.size(), wide);
  return wide == std::floor(wide) && wide != static_cast<double>(weight) && std::abs(wide) <= 0x1p53;
}

/// The usual weight: a whole one that is exact, in a third of the time of others, or one below 2^24 that a float holds.
bool read_usual_weight(char const*& at, char const* end, float min, float& weight) noexcept {
  auto const* whole_end = at;
  std::uint64_t whole = 0;
  if (read_digits(whole_end, whole) && static_cast<unsigned char>(*whole_end) <= ' ' && whole <= max_whole_weight) {
    at = whole_end;
    weight = static_cast<float>(whole);
    return true;
  }
  auto const [rest, code] = std::from_chars(at, end, weight);
  if (code != std::errc{} || !(weight >= min && weight < static_cast<float>(max_whole_weight))) return false;
  at = rest;
  return true;
}

/// Any other, from `at`; notes one that is rounded, in a line that may still turn out to be faulty. Returns its end, or
/// null. It takes copies, so that the loop that calls it keeps its own in registers.
[[gnu::noinline]] char const* read_other_weight(weight_column column, char const* at, char const* end,
                                                std::uint64_t line, parsed_lines& parsed, float* weight) {
  char const* const begin = at;
  bool rounded = false;
  if (!read_weight(at, end, column, *weight, rounded)) return nullptr;
  if (rounded && ++parsed.rounded_weights == 1) parsed.rounded = rounded_weight{line, std::string{begin, at}, *weight};
  return at;
}

constexpr unsigned above_diagonal = 1;
constexpr unsigned below_diagonal = 2;

/// Finds the first entry of each of these sides, in a text that has them and no fault. A matrix by one triangle has it
/// at once; to look for it at each line would cost some percent.
void find_sides(line_grammar const& grammar, std::string_view text, unsigned sides, parsed_lines& parsed) {
  for (std::uint64_t number = 1; sides != 0; ++number) {
    std::string_view const line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    auto const words = split_words(line);
    if (is_comment(words, grammar.comments)) continue;
    entry_place const place{number, read_whole(words[0]).number, read_whole(words[1]).number};
    unsigned const side =
        (place.row < place.column ? above_diagonal : 0U) | (place.row > place.column ? below_diagonal : 0U);
    if ((sides & side) == 0) continue;
    (side == above_diagonal ? parsed.above : parsed.below) = place;
    sides &= ~side;
  }
}

/// What a grammar asks for at each line, known at compile time: where nothing is asked for, nothing is spent.
template <bool Separated, bool Weighted, bool Triangle>
parsed_lines parse(line_grammar const& grammar, std::string_view text, edge* edges, float* weights) {
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
  auto const separator = grammar.separator;
  float unused = 0;
  auto* next_weight = grammar.stores_weights() ? weights : &unused;
  std::ptrdiff_t const weight_step = grammar.stores_weights() ? 1 : 0;  // a branch at each line would cost 2 %
  float const min_usual = grammar.weights == weight_column::lengths ? 0 : 1 - static_cast<float>(max_whole_weight);
  unsigned sides = 0;
  std::uint64_t lines = 0;
  std::uint64_t highest = 0;
  auto* next_edge = edges;
  while (at != end) {
    auto const* const begin = at;
    ++lines;
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
    read = read && read_digits(at, source) && next_column<Separated>(at, separator) && read_digits(at, target);
    if constexpr (Weighted) {
      read = read && next_column<Separated>(at, separator);
      if (read && !read_usual_weight(at, end, min_usual, weight)) [[unlikely]] {
        float other = 0;
        auto const* const rest = read_other_weight(grammar.weights, at, end, lines, parsed, &other);
        read = rest != nullptr;
        at = read ? rest : at;
        weight = other;
      }
    }
    read = read && end_line(at) && source - first < ids && target - first < ids;
    if (!read) at = static_cast<char const*>(std::memchr(begin, '\n', static_cast<std::size_t>(end - begin)));
    if (static_cast<std::size_t>(at - begin) > max_line_bytes) {
      refuse(lines, "a line of more than " + std::to_string(max_line_bytes) + " bytes");
      break;
    }
    if (!read) {
      if (auto message = diagnose(grammar, {begin, at})) {
        refuse(lines, std::move(*message));
        break;
      }
      ++at;
      continue;
    }
    ++at;
    if constexpr (Triangle) {
      if (source < target) {
        sides |= above_diagonal;
      } else if (source != target) {
        sides |= below_diagonal;
      }
    }
    source -= first;
    target -= first;
    highest = std::max({highest, source, target});
    *next_edge++ = {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(target)};
    if constexpr (Weighted) {
      *next_weight = weight;
      next_weight += weight_step;
    }
  }
  parsed.lines = lines;
  parsed.edges = static_cast<std::size_t>(next_edge - edges);
  parsed.highest = static_cast<std::uint32_t>(highest);
  if (Triangle && !parsed.fault) find_sides(grammar, text, sides, parsed);
  return parsed;
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view line, char separator) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string_view> words;
  constexpr std::string_view blanks = " \t";
  auto const first = std::min(line.find_first_not_of(blanks), line.size());
  line = line.substr(first, line.find_last_not_of(blanks) + 1 - first);
  while (!line.empty()) {
    auto const end = std::min(separator == ' ' ? line.find_first_of(blanks) : line.find(separator), line.size());
    std::string_view const word = line.substr(0, end);
    words.push_back(word.substr(0, word.find_last_not_of(blanks) + 1));
    bool const more = end != line.size();
    line.remove_prefix(end + (more && separator != ' ' ? 1 : 0));
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    if (line.empty() && more && separator != ' ') words.emplace_back();  // after the last separator
  }
  return words;
}

std::string networkx_fault(std::string_view line) {
  auto const words = split_words(line);
  if (words.size() < 3 || !words[2].starts_with('{')) return {};
  return "`{` after the edge, as networkx writes its data: write the list with data=False, or by "
         "write_weighted_edgelist";
}

bool is_comment(std::vector<std::string_view> const& words, std::string_view comments) {
  return words.empty() || (!words[0].empty() && comments.find(words[0][0]) != std::string_view::npos);
}

bool read_weight(char const*& at, char const* end, weight_column column, float& weight, bool& rounded) {
  auto const* whole_end = at;
  std::uint64_t whole = 0;
  if (read_digits(whole_end, whole) && static_cast<unsigned char>(*whole_end) <= ' ') {
    at = whole_end;
    weight = static_cast<float>(whole);
    if (whole > max_whole_weight && column != weight_column::skipped)
      rounded = static_cast<std::uint64_t>(weight) != whole;
    return true;
  }
  if (*at == '+' && at[1] != '-') {  // allowed by C and Fortran, not by from_chars
    ++at;
  }
  auto const* const begin = at;
  auto const [rest, code] = std::from_chars(at, end, weight);
  if (code != std::errc{} && code != std::errc::result_out_of_range) return false;
  at = rest;
  if (column == weight_column::skipped) return true;
  std::string_view const word{begin, rest};
  if (code != std::errc{}) return read_extreme(word, column, weight);
  float const size = std::abs(weight);
  if (!std::isfinite(size) || (column == weight_column::lengths && !(weight >= 0 && weight <= max_real_weight)))
    return false;
  if (size >= static_cast<float>(max_whole_weight)) rounded = is_rounded(word, weight);
  return true;
}

std::string weight_fault(std::string_view word, weight_column column) {
  std::string const weight = "the weight " + quote(word);
  float value = 0;
  bool rounded = false;
  std::string const line = std::string{word} + '\n';
  char const* at = line.data();
  if (word.empty()) return "the weight is empty";
  if (column == weight_column::skipped) return weight + " is not a number";
  bool const finite = read_weight(at, line.data() + line.size(), weight_column::values, value, rounded) && *at == '\n';
  if (column == weight_column::lengths && (finite || (at != line.data() && word.starts_with('-'))))
    return weight + (word.starts_with('-') ? " is negative" : " is too large") + ": a weight must be from 0 to 2^96";
  return weight + " is not a finite number that fits a float";
}

number_or_fault read_whole(std::string_view word) {
  if (word.empty()) return {0, "is empty"};
  if (word.find_first_not_of("0123456789") != std::string_view::npos) {
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
  bool const weighted = grammar.weights != weight_column::none;
  auto const parse_so = grammar.separator != ' ' ? (weighted ? parse<true, true, false> : parse<true, false, false>)
                        : grammar.one_triangle   ? (weighted ? parse<false, true, true> : parse<false, false, true>)
                                                 : (weighted ? parse<false, true, false> : parse<false, false, false>);
  return parse_so(grammar, text, edges, weights);
}

}  // namespace lull::detail
