// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/option_row.hpp>

#include <algorithm>
#include <optional>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>

namespace lull::detail {
namespace {

constexpr std::size_t max_value = 1 << 16;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

enum class bound_kind { none, inclusive, exclusive };

struct interval {
  std::string_view low;
  std::string_view high;
  bound_kind low_kind = bound_kind::none;
  bound_kind high_kind = bound_kind::none;
};

std::optional<interval> parse_interval(std::string_view text) {
  auto const comma = text.find(',');
  if (text.size() < 5 || comma == std::string_view::npos) return std::nullopt;
  if ((text.front() != '[' && text.front() != '(') || (text.back() != ']' && text.back() != ')')) return std::nullopt;
  interval result{.low = trimmed(text.substr(1, comma - 1)),
                  .high = trimmed(text.substr(comma + 1, text.size() - comma - 2))};
  if (result.low.empty() || result.high.empty()) return std::nullopt;
  if (result.low != "-inf") result.low_kind = text.front() == '[' ? bound_kind::inclusive : bound_kind::exclusive;
  if (result.high != "inf") result.high_kind = text.back() == ']' ? bound_kind::inclusive : bound_kind::exclusive;
  return result;
}

// Returns "at least 0 and below 1", because brackets are for readers of tables.
std::string describe_interval(interval const& bounds) {
  std::string text;
  if (bounds.low_kind != bound_kind::none) {
    text = (bounds.low_kind == bound_kind::inclusive ? "at least " : "above ") + std::string{bounds.low};
  }
  if (bounds.high_kind != bound_kind::none) {
    if (!text.empty()) text += " and ";
    text += (bounds.high_kind == bound_kind::inclusive ? "at most " : "below ") + std::string{bounds.high};
  }
  return text;
}

std::vector<std::string_view> split_choices(std::string_view range) {
  std::vector<std::string_view> choices;
  while (!range.empty()) {
    auto const bar = std::min(range.find('|'), range.size());
    choices.push_back(range.substr(0, bar));
    range.remove_prefix(std::min(bar + 1, range.size()));
  }
  return choices;
}

bool is_number(option_kind kind) {
  return kind == option_kind::integer || kind == option_kind::real || kind == option_kind::size;
}

option_value parse_value(option_kind kind, std::string_view text) {
  switch (kind) {
    case option_kind::path:
    case option_kind::choice:
      return {};
    case option_kind::integer:
      return parse_integer(text);
    case option_kind::real:
      return parse_real(text);
    case option_kind::size:
      return parse_size(text);
  }
  return {};
}

bool within(interval const& bounds, option_kind kind, option_value const& value) {
  auto const holds = [&](bound_kind bound, option_value const& smaller, option_value const& larger) {
    return bound == bound_kind::none || (bound == bound_kind::inclusive ? smaller <= larger : smaller < larger);
  };
  return holds(bounds.low_kind, bounds.low_kind == bound_kind::none ? value : parse_value(kind, bounds.low), value) &&
         holds(bounds.high_kind, value, bounds.high_kind == bound_kind::none ? value : parse_value(kind, bounds.high));
}

bool is_name(std::string_view name) {
  auto const letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

option_value read_value(option const& row, std::string_view text) {
  if (text.size() > max_value) throw usage_error("is longer than " + std::to_string(max_value) + " bytes");
  if (text.find('\0') != std::string_view::npos) throw usage_error("holds a zero byte");
  if (row.kind == option_kind::choice) {
    auto const choices = split_choices(row.range);
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      throw usage_error("\"" + std::string{text} + "\" is not one of " + list_known(text, choices));
    }
    return {};
  }
  option_value const value = parse_value(row.kind, text);
  if (is_number(row.kind) && !row.range.empty()) {
    interval const bounds = *parse_interval(row.range);
    if (!within(bounds, row.kind, value)) {
      throw usage_error(std::string{text} + " is out of range: it must be " + describe_interval(bounds));
    }
  }
  return value;
}

std::string describe_range(option const& row) {
  if (!is_number(row.kind) || row.range.empty()) return {};
  return describe_interval(*parse_interval(row.range));
}

void check_row(option const& row) {
  auto const fail = [&](std::string const& reason) {
    throw usage_error("table of options, row \"" + std::string{row.name} + "\": " + reason);
  };
  if (!is_name(row.name)) fail("a name is lower-case letters, digits and '_', a letter first");
  if (row.help.empty()) fail("the help is missing");
  if (row.kind == option_kind::choice) {
    auto const choices = split_choices(row.range);
    if (choices.empty() || std::find(choices.begin(), choices.end(), "") != choices.end()) {
      fail("the range of a choice is its words: a|b|c");
    }
  } else if (!row.range.empty()) {
    if (!is_number(row.kind)) fail("only numbers and choices have a range");
    auto const bounds = parse_interval(row.range);
    if (!bounds) fail("\"" + std::string{row.range} + "\" is not an interval such as [0, 1) or (0, inf)");
    bool const bounded = bounds->low_kind != bound_kind::none && bounds->high_kind != bound_kind::none;
    try {
      if (bounds->low_kind != bound_kind::none) parse_value(row.kind, bounds->low);
      if (bounds->high_kind != bound_kind::none) parse_value(row.kind, bounds->high);
      if (bounded && parse_value(row.kind, bounds->low) > parse_value(row.kind, bounds->high)) {
        throw usage_error("it is empty");
      }
    } catch (usage_error const& wrong) {
      fail(std::string{"its range: "} + wrong.what());
    }
  }
  if (!row.default_value.empty()) {
    try {
      read_value(row, row.default_value);
    } catch (usage_error const& wrong) {
      fail(std::string{"its default: "} + wrong.what());
    }
  }
}

}  // namespace lull::detail
