// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/options.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <ostream>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/io/wrapped.hpp>

namespace lull {
namespace {

constexpr std::size_t indent = 6;

// Returns Levenshtein's distance, computed two rows at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    current[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      current[j + 1] = std::min({previous[j + 1] + 1, current[j] + 1, previous[j] + (a[i] == b[j] ? 0 : 1)});
    }
    std::swap(previous, current);
  }
  return previous[b.size()];
}

constexpr std::size_t max_value = 1 << 16;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// One end of a range; without a text there is none.
struct range_end {
  std::string_view text;
  bool is_inclusive;
};
struct interval {
  range_end low;
  range_end high;
};

std::optional<interval> parse_interval(std::string_view text) {
  auto const comma = text.find(',');
  if (text.size() < 5 || comma == std::string_view::npos) return std::nullopt;
  if ((text.front() != '[' && text.front() != '(') || (text.back() != ']' && text.back() != ')')) return std::nullopt;
  interval result{{trimmed(text.substr(1, comma - 1)), text.front() == '['},
                  {trimmed(text.substr(comma + 1, text.size() - comma - 2)), text.back() == ']'}};
  if (result.low.text.empty() || result.high.text.empty()) return std::nullopt;
  if (result.low.text == "-inf") result.low.text = {};
  if (result.high.text == "inf") result.high.text = {};
  return result;
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
  if (kind == option_kind::integer) return parse_integer(text);
  if (kind == option_kind::real) return parse_real(text);
  if (kind == option_kind::size) return parse_size(text);
  return {};
}

bool within(interval const& bounds, option_kind kind, option_value const& value) {
  auto const keeps = [&](range_end const& end, bool is_low) {
    if (end.text.empty()) return true;
    option_value const at = parse_value(kind, end.text);
    return at == value ? end.is_inclusive : (at < value) == is_low;
  };
  return keeps(bounds.low, true) && keeps(bounds.high, false);
}

bool is_name(std::string_view name) {
  auto const letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

/// "at least 0 and below 1" for a number's range, since brackets are for readers of tables; empty if it has none.
std::string describe_range(option const& row) {
  std::string text;
  if (!is_number(row.kind) || row.range.empty()) return text;
  auto const [low, high] = *parse_interval(row.range);
  if (!low.text.empty()) text = (low.is_inclusive ? "at least " : "above ") + std::string{low.text};
  if (high.text.empty()) return text;
  return (text.empty() ? "" : text + " and ") + (high.is_inclusive ? "at most " : "below ") + std::string{high.text};
}

/// Reads `text` as a value of the row's kind and range. Errors: usage_error that begins with the value; the caller puts
/// the option's name before it.
option_value read_value(option const& row, std::string_view text) {
  if (text.size() > max_value) throw usage_error("is longer than " + std::to_string(max_value) + " bytes");
  if (text.find('\0') != std::string_view::npos) throw usage_error("holds a zero byte");
  if (row.kind == option_kind::choice) {
    auto const choices = split_choices(row.range);
    if (std::ranges::find(choices, text) == choices.end())
      throw usage_error("\"" + std::string{text} + "\" is not one of " + list_known(text, choices));
    return {};
  }
  option_value const value = parse_value(row.kind, text);
  if (is_number(row.kind) && !row.range.empty() && !within(*parse_interval(row.range), row.kind, value))
    throw usage_error(std::string{text} + " is out of range: it must be " + describe_range(row));
  return value;
}

/// Throws usage_error if the row breaks the rules of `option`.
void check_row(option const& row) {
  auto const fail = [&](std::string const& reason) {
    throw usage_error("table of options, row \"" + std::string{row.name} + "\": " + reason);
  };
  if (!is_name(row.name)) fail("a name is lower-case letters, digits and '_', a letter first");
  if (row.help.empty()) fail("the help is missing");
  auto const attempt = [&](char const* what, auto const& call) {
    try {
      call();
    } catch (usage_error const& wrong) {
      fail(what + std::string{wrong.what()});
    }
  };
  if (row.kind == option_kind::choice) {
    auto const choices = split_choices(row.range);
    if (choices.empty() || std::ranges::find(choices, "") != choices.end())
      fail("the range of a choice is its words: a|b|c");
  } else if (!row.range.empty()) {
    if (!is_number(row.kind)) fail("only numbers and choices have a range");
    auto const bounds = parse_interval(row.range);
    if (!bounds) fail("\"" + std::string{row.range} + "\" is not an interval such as [0, 1) or (0, inf)");
    attempt("its range: ", [&] {
      auto const& [low, high] = *bounds;
      option_value const least = low.text.empty() ? option_value{} : parse_value(row.kind, low.text);
      option_value const most = high.text.empty() ? option_value{} : parse_value(row.kind, high.text);
      if (least.index() == most.index() && least > most) throw usage_error("it is empty");
    });
  }
  if (!row.default_value.empty()) attempt("its default: ", [&] { read_value(row, row.default_value); });
}

}  // namespace

std::string_view name_of(option_kind kind) noexcept {
  constexpr std::string_view names[] = {"path", "integer", "real", "size", "choice", "text"};
  return names[static_cast<std::size_t>(kind)];
}

void check_options(option_table table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    check_row(table[i]);
    for (std::size_t j = 0; j < i; ++j) {
      if (table[i].name == table[j].name) {
        throw usage_error("table of options: \"" + std::string{table[i].name} + "\" is given twice");
      }
    }
  }
}

void print_options(std::ostream& out, option_table table, std::size_t width) {
  for (option const& row : table) {
    out << "  " << row.name << "=" << (row.kind == option_kind::choice ? row.range : name_of(row.kind)) << '\n';
    std::string text{row.help};
    if (std::string const range = describe_range(row); !range.empty()) text += "; " + range;
    if (!row.default_value.empty()) text += " (default " + std::string{row.default_value} + ")";
    out << std::string(indent, ' ') << wrapped(text, width, indent);
  }
}

std::string_view nearest(std::string_view wanted, std::span<std::string_view const> known) {
  wanted = wanted.substr(0, 256);  // the distance is quadratic
  return *std::ranges::min_element(known, {}, [&](std::string_view name) {
    return std::pair{!name.starts_with(wanted), distance(wanted, name)};  // names that begin so come first
  });
}

std::string list_known(std::string_view wanted, std::span<std::string_view const> known) {
  if (known.empty()) return "none";
  std::string_view const first = nearest(wanted, known);
  std::string text{first};
  for (std::string_view const name : known) {
    if (name != first) text += ", " + std::string{name};
  }
  return text;
}

option_values::option_values(option_table table) : table_(table), entries_(table.size()) {
  check_options(table);
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].default_value.empty()) continue;
    entries_[i] = {.spelling = std::string{table[i].default_value},
                   .value = read_value(table[i], table[i].default_value),
                   .has = true};
  }
}

void option_values::set(std::string_view name, std::string_view text) {
  std::size_t const index = index_of(name);
  option const& row = table_[index];
  entry& target = entries_[index];
  if (text.empty()) {
    throw usage_error("option \"" + std::string{name} + "\" (" + std::string{name_of(row.kind)} +
                      ") has no value: write " + std::string{name} + "=VALUE");
  }
  if (target.given) throw usage_error("option \"" + std::string{name} + "\" is given twice: give it once");
  try {
    target = {.spelling = std::string{text}, .value = read_value(row, text), .has = true, .given = true};
  } catch (usage_error const& wrong) {
    throw usage_error("option \"" + std::string{name} + "\" (" + std::string{name_of(row.kind)} + "): " + wrong.what());
  }
}

bool option_values::given(std::string_view name) const { return entries_[index_of(name)].given; }

bool option_values::has(std::string_view name) const { return entries_[index_of(name)].has; }

std::string const& option_values::choice(std::string_view name) const {
  return value_of(name, option_kind::choice).spelling;
}

std::string const& option_values::text(std::string_view name) const {
  return value_of(name, option_kind::text).spelling;
}

std::filesystem::path option_values::path(std::string_view name) const {
  return value_of(name, option_kind::path).spelling;
}

std::int64_t option_values::integer(std::string_view name) const {
  return std::get<std::int64_t>(value_of(name, option_kind::integer).value);
}

double option_values::real(std::string_view name) const {
  return std::get<double>(value_of(name, option_kind::real).value);
}

std::uint64_t option_values::size_bytes(std::string_view name) const {
  return std::get<std::uint64_t>(value_of(name, option_kind::size).value);
}

std::string const& option_values::spelling(std::string_view name) const { return entries_[index_of(name)].spelling; }

std::size_t option_values::index_of(std::string_view name) const {
  auto const found = std::ranges::find(table_, name, &option::name);
  if (found != table_.end()) return static_cast<std::size_t>(found - table_.begin());
  throw usage_error("unknown option \"" + std::string{name} + "\"; known: " + list_names(name, table_));
}

option_values::entry const& option_values::value_of(std::string_view name, option_kind kind) const {
  std::size_t const index = index_of(name);
  if (table_[index].kind != kind) {
    throw usage_error("option \"" + std::string{name} + "\" is of kind " + std::string{name_of(table_[index].kind)} +
                      " and was asked for as " + std::string{name_of(kind)});
  }
  if (!entries_[index].has) {
    throw usage_error("option \"" + std::string{name} + "\" has no default and was not given: write " +
                      std::string{name} + "=VALUE");
  }
  return entries_[index];
}

}  // namespace lull
