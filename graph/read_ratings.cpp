// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <lull/graph/load_lines.hpp>
#include <lull/graph/ratings.hpp>
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

class rating_reader {
 public:
  rating_reader(std::string const& path, rating_limits const& limits)
      : path_(path),
        limits_(limits),
        memory_(path, "take fewer ratings, or a computer with more memory", limits.memory) {}

  ratings read() {
    auto const packing = path_.ends_with(".gz") ? compression::gzip : compression::none;
    text_source source{path_, packing, limits_.max_bytes};
    memory_.require(source.expect("\n") * sizeof(rating));
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
    return static_cast<char const*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
  }
  void check_length(char const* begin, char const* end) const {
    if (static_cast<std::size_t>(end - begin) > detail::max_line_bytes) refuse("a line of more than 64 KiB");
  }

  std::uint32_t read_id(char const*& at, char const* end, char const* whose, std::uint64_t& count) const {
    std::uint64_t id = 0;
    auto const [rest, code] = std::from_chars(at, end, id);
    if (code != std::errc{} || !(separates(*rest) || *rest <= ' '))
      refuse(std::string{"expected the id of "} + (*whose == 'i' ? "an " : "a ") + whose +
             ", a whole number from 0, got " + quote({at, to_end(at, end)}));
    if (id >= limits_.max_ids)
      refuse(std::string{whose} + " " + std::to_string(id) +
             " is not below the limit max_ids = " + std::to_string(limits_.max_ids));
    count = std::max(count, id + 1);
    at = rest;
    skip(at);
    return static_cast<std::uint32_t>(id);
  }

  float read_value(char const*& at, char const* end) const {
    float value = 0;
    if (*at == '+' && at[1] != '-') ++at;  // from_chars knows no plus
    auto const [rest, code] = std::from_chars(at, end, value);
    if (code != std::errc{} || !std::isfinite(value) || !(separates(*rest) || *rest <= ' '))
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
