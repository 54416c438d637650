// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/table_columns.hpp>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include <lull/tasks/mlp/label_text.hpp>

namespace lull {
namespace {

bool is_called(text_dialect const& dialect, std::size_t column, std::string_view name) {
  return dialect.header && plain_name(dialect.columns[column].name) == name;
}

std::optional<std::size_t> find_named_label(text_dialect const& dialect, std::vector<std::size_t> const& kept,
                                            std::string_view of_model) {
  std::string const plain = plain_name(of_model);
  for (std::string_view const name :
       {std::string_view{plain}, std::string_view{"label"}, std::string_view{"labels"}, std::string_view{"target"},
        std::string_view{"class"}, std::string_view{"outcome"}}) {
    if (name.empty()) continue;
    for (std::size_t const column : kept) {
      if (is_called(dialect, column, name)) return column;
    }
  }
  return std::nullopt;
}

/// The label among `kept`, which is not empty.
std::size_t find_label(text_dialect const& dialect, std::vector<std::size_t> const& kept, table_names const& names,
                       bool& guessed) {
  if (auto const named = find_named_label(dialect, kept, names.label)) return *named;
  std::vector<std::size_t> texts;
  std::copy_if(kept.begin(), kept.end(), std::back_inserter(texts),
               [&](std::size_t column) { return dialect.columns[column].words && !dialect.columns[column].number; });
  guessed = texts.size() == 1;
  if (guessed) return texts.front();
  if (names.label_place != 0 && names.label_place <= kept.size()) return kept[names.label_place - 1];
  return is_called(dialect, kept.front(), "y") ? kept.front() : kept.back();  // in between it is a coordinate
}

bool is_replaced(std::string const& name) { return name.find("\xef\xbf\xbd") != name.npos; }

/// The columns that a model takes, by their names. Empty where none is there; `fault` where some are not.
std::vector<std::size_t> find_values(text_dialect const& dialect, std::vector<std::string> const& names,
                                     std::string& fault) {
  std::vector<std::size_t> found;
  std::string missing;
  for (std::string const& name : names) {
    auto const at = std::find_if(dialect.columns.begin(), dialect.columns.end(),
                                 [&](text_column const& each) { return dialect.header && each.name == name; });
    if (at != dialect.columns.end()) {
      found.push_back(static_cast<std::size_t>(at - dialect.columns.begin()));
    } else if (is_replaced(name)) {  // U+FFFD: a model of a file that was not UTF-8
      return {};
    } else if (missing.empty()) {
      missing = name;
    }
  }
  if (!found.empty() && !missing.empty())
    fault = "the model takes a column `" + missing + "`, which is not there; others that it takes are";
  return found;
}

}  // namespace

table_columns find_table_columns(text_dialect const& dialect, std::uint64_t features, table_options const& given) {
  table_columns made;
  std::vector<std::size_t> dropped;
  if (given.drop.empty()) {
    for (std::size_t column = 0; column < dialect.columns.size(); ++column) {
      if (is_row_number(dialect.columns[column])) dropped.push_back(column);
    }
  } else if (given.drop != "none") {
    for (std::string const& each : divide_names(given.drop)) {
      auto const found = find_column(dialect, each);
      if (!found) {
        made.fault = "drop=" + given.drop + ": " + no_column(dialect, each);
        return made;
      }
      dropped.push_back(*found);
    }
  }
  std::optional<std::size_t> asked;
  if (!given.label.empty()) {
    asked = find_column(dialect, given.label);
    if (!asked) {
      made.fault = "label=" + given.label + ": " + no_column(dialect, given.label);
      return made;
    }
    std::erase(dropped, *asked);
  }
  std::vector<std::size_t> kept;
  for (std::size_t column = 0; column < dialect.columns.size(); ++column) {
    if (std::find(dropped.begin(), dropped.end(), column) == dropped.end()) kept.push_back(column);
  }
  std::vector<std::size_t> const by_name = find_values(dialect, given.names.values, made.fault);
  if (!made.fault.empty()) return made;
  if (!by_name.empty()) {
    auto const is_value = [&](std::size_t column) {
      return std::find(by_name.begin(), by_name.end(), column) != by_name.end();
    };
    std::erase_if(dropped, is_value);
    std::erase_if(kept, is_value);
    made.label = asked ? asked : find_named_label(dialect, kept, given.names.label);
    for (std::size_t const column : kept) {
      if (column != made.label) dropped.push_back(column);
    }
    std::sort(dropped.begin(), dropped.end());
    kept = by_name;
  } else if ((features == 0 || kept.size() == features + 1) && !kept.empty()) {
    made.label = asked ? *asked : find_label(dialect, kept, given.names, made.guessed);
    made.label_place = static_cast<std::size_t>(std::find(kept.begin(), kept.end(), *made.label) - kept.begin()) + 1;
    std::erase(kept, *made.label);
  }
  made.values = kept;
  if (features != 0 && kept.size() != features) {
    made.fault = std::to_string(kept.size() + (made.label ? 1 : 0)) + " columns, but rows to class have " +
                 std::to_string(features) + " numbers, with or without a label after them";
  }
  if (features == 0 && kept.empty()) made.fault = "no column is left but the label";
  made.taken = to_string(dialect) + "; " + std::to_string(kept.size()) + " numbers a row, " +
               (made.label ? "label is " + column_text(dialect, *made.label) : "no label");
  for (std::size_t at = 0; at < std::min<std::size_t>(dropped.size(), 16); ++at)
    made.taken += (at == 0 ? "; left out: " : ", ") + column_text(dialect, dropped[at]);
  if (!by_name.empty()) made.taken += "; numbers by the model's names";
  if (by_name.empty() && !given.names.values.empty()) {
    auto const& names = given.names.values;
    made.taken += "; numbers by their order, as ";
    made.taken += std::any_of(names.begin(), names.end(), is_replaced)
                      ? "the model's names were not UTF-8 when it was trained"
                      : "no column has a name of the model's: " + class_text(names.front()) + " …";
  }
  if (!dialect.doubt.empty()) made.taken += "; " + dialect.doubt;
  return made;
}

std::string column_key(text_dialect const& dialect, std::size_t column) {
  auto const is_word = [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_';
  };
  std::string const& name = dialect.columns[column].name;
  if (!name.empty() && std::all_of(name.begin(), name.end(), is_word) && name != "none" &&
      find_column(dialect, name) == column)
    return name;
  std::string const number = std::to_string(column + 1);  // which may be another column's name
  if (find_column(dialect, number) == column) return number;
  return "-" + std::to_string(dialect.columns.size() - column);
}

}  // namespace lull
