// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <ostream>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/wrapped.hpp>
#include <lull/host/task/option_row.hpp>
#include <lull/host/task/options.hpp>

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

}  // namespace

std::string_view name_of(option_kind kind) noexcept {
  switch (kind) {
    case option_kind::path:
      return "path";
    case option_kind::integer:
      return "integer";
    case option_kind::real:
      return "real";
    case option_kind::size:
      return "size";
    case option_kind::choice:
      return "choice";
  }
  return "";
}

void check_options(option_table table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    detail::check_row(table[i]);
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
    if (std::string const range = detail::describe_range(row); !range.empty()) text += "; " + range;
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

}  // namespace lull
