// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <lull/graph/graph_sgd/ratings.hpp>
#include <lull/graph/load/load_lines.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/text_source.hpp>
#include <new>
#include <string_view>

namespace lull {
namespace {

constexpr bool separates(char byte) noexcept {
  return byte == ' ' || byte == '\t' || byte == ',' || byte == ';' || byte == ':';
}
constexpr bool is_digit(char byte) noexcept { return byte >= '0' && byte <= '9'; }
constexpr bool ends_word(char byte) noexcept { return separates(byte) || byte <= ' '; }

/// Appends up to `most` digits to the number; returns where they end.
constexpr char const* read_digits(char const* at, std::ptrdiff_t most, std::uint64_t& number) noexcept {
  char const* const begin = at;
  for (; is_digit(*at) && at - begin < most; ++at) number = number * 10 + static_cast<std::uint64_t>(*at - '0');
  return at;
}

class rating_reader {
 public:
  rating_reader(std::string const& path, rating_limits const& limits)
      : path_(path),
        limits_(limits),
        memory_(path, "take fewer ratings, or a computer with more memory", limits.memory) {}

  ratings read() {
    auto const packing = path_.ends_with(".gz") ? compression::gzip : compression::none;
    text_source source{path_, packing, limits_.max_bytes};
    std::uint64_t const expected = source.expect("\n");
    memory_.require(expected * sizeof(rating));
    made_.all.reserve(std::min(expected + expected / 16, limits_.max_ratings));
    text_block block;
    while (source.next(block)) {
      read_lines(block.text());
      memory_.require(made_.all.size() * sizeof(rating));
    }
    if (made_.all.empty()) throw input_error(path_, 0, line_ == 0 ? "is empty" : "holds no ratings");
    return std::move(made_);
  }

 private:
  /// A line feed ends the text, so none of the loops passes its end.
  void read_lines(std::string_view text) {
    char const* at = text.data();
    char const* const end = at + text.size();
    while (at != end) {
      char const* const begin = at;
      ++line_;
      skip(at);
      if (*at == '\r' || *at == '\n' || (line_ == 1 && !is_digit(*at))) {
        at = to_end(at, end);
        check_length(begin, at);
      } else {
        rating given{};
        given.user = read_id(at, end, "user", users_);
        given.item = read_id(at, end, "item", items_);
        given.value = read_value(at, end);
        at = to_end(at, end);
        check_length(begin, at);
        if (made_.all.size() == limits_.max_ratings)
          refuse("more ratings than the limit max_ratings = " + std::to_string(limits_.max_ratings));
        made_.all.push_back(given);
      }
      ++at;
    }
    made_.users = static_cast<std::uint32_t>(users_);
    made_.items = static_cast<std::uint32_t>(items_);
  }

  static void skip(char const*& at) noexcept {
    while (separates(*at)) ++at;
  }
  static char const* to_end(char const* at, char const* end) noexcept {
    if (*at == '\n') return at;
    return static_cast<char const*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
  }
  void check_length(char const* begin, char const* end) const {
    if (static_cast<std::size_t>(end - begin) > detail::max_line_bytes) refuse("a line of more than 64 KiB");
  }

  std::uint32_t read_id(char const*& at, char const* end, char const* whose, std::uint64_t& count) const {
    std::uint64_t id = 0;
    char const* rest = read_digits(at, 9, id);
    if (rest == at || !ends_word(*rest)) rest = read_long_id(at, end, whose, id);
    if (id >= limits_.max_ids) refuse_id(whose, id);
    count = std::max(count, id + 1);
    at = rest;
    skip(at);
    return static_cast<std::uint32_t>(id);
  }

  /// Returns where the id ends. Refuses what is none.
  char const* read_long_id(char const* at, char const* end, char const* whose, std::uint64_t& id) const {
    auto const [rest, code] = std::from_chars(at, end, id);
    if (code != std::errc{} || !ends_word(*rest))
      refuse(std::string{"expected the id of "} + (*whose == 'i' ? "an " : "a ") + whose +
             ", a whole number from 0, got " + quote({at, to_end(at, end)}));
    return rest;
  }

  [[noreturn]] void refuse_id(char const* whose, std::uint64_t id) const {
    refuse(std::string{whose} + " " + std::to_string(id) +
           " is not below the limit max_ids = " + std::to_string(limits_.max_ids));
  }

  /// A value of at most seven digits, which fp32 holds as a whole number, and so the power of ten: one division rounds
  /// as from_chars does. Source: Clinger, "How to read floating point numbers accurately",
  /// PLDI 1990, section 5.
  static bool read_short(char const*& at, float& value) noexcept {
    constexpr float power[] = {1, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F};
    std::uint64_t digits = 0;
    char const* const point = read_digits(at, 7, digits);
    char const* const end = *point == '.' ? read_digits(point + 1, 7 - (point - at), digits) : point;
    if (point == at || !ends_word(*end)) return false;
    value = static_cast<float>(digits) / power[end == point ? 0 : end - point - 1];
    at = end;
    return true;
  }

  float read_value(char const*& at, char const* end) const {
    float value = 0;
    if (read_short(at, value)) return value;
    if (*at == '+' && at[1] != '-') ++at;  // from_chars knows no plus
    auto const [rest, code] = std::from_chars(at, end, value);
    if (code != std::errc{} || !std::isfinite(value) || !ends_word(*rest))
      refuse("expected a rating, a finite number that fits a float, got " + quote({at, to_end(at, end)}));
    at = rest;
    return value;
  }

  [[noreturn]] void refuse(std::string const& why) const { throw input_error(path_, line_, why); }

  std::string const& path_;
  rating_limits const& limits_;
  file_memory memory_;
  ratings made_;
  std::uint64_t users_ = 0;
  std::uint64_t items_ = 0;
  std::uint64_t line_ = 0;
};

}  // namespace

ratings read_ratings(std::string const& path, rating_limits const& limits) {
  try {
    return rating_reader{path, limits}.read();
  } catch (text_error const& fault) {
    throw input_error(path, 0, fault.what());
  } catch (std::bad_alloc const&) {
    throw limit_error(path + ": not enough memory for these ratings on this computer");
  }
}

}  // namespace lull
