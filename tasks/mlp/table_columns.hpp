// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/io/text_dialect.hpp>

namespace lull {

/// The names in a table. Empty: it has none.
struct table_names {
  std::vector<std::string> classes{};  // where labels are text
  std::vector<std::string> values{};   // of the columns of numbers, if each has one of its own
  std::string label{};                 // of the label's column
  std::size_t label_place = 0;         // of the label's column, from 1, among those that are not left out; 0: unknown
};

/// How a table of rows is read, as far as a user says so.
struct table_options {
  std::string label{};  // the label's column, by name or number from 1; empty: found
  std::string drop{};   // columns that are left out, with commas between them, or "none"; empty: found
  dialect_options dialect{};
  table_names names{};  // that a model knows; empty: as in the file
};

/// Which columns hold the numbers and which the label, from 0.
struct table_columns {
  std::vector<std::size_t> values;
  std::optional<std::size_t> label;
  std::size_t label_place = 0;  // as of table_names
  bool guessed = false;         // the label is that column only because no other is text
  std::string taken;            // one line: the dialect, these columns, what is left out, what else the text could mean
  std::string fault;            // why they cannot be told; empty: they can
};

/// Where nothing is given, row numbers are left out (is_row_number). The label is the column called as the model's, or
/// label, labels, target, class or outcome, the first of these that exists; or else the only column of text; or else
/// the column at the model's place; or else a first column called y; or else the last column. `features` not 0: so many
/// numbers a row, with a label or without.
///
/// Where names of values are given and the text has names, columns are taken by them, in that order, and the label only
/// if it is asked for or has one of those names. Names of which none is there say nothing; some alone are a fault.
table_columns find_table_columns(text_dialect const& dialect, std::uint64_t features, table_options const& given);

/// What an option calls the column: its name where that is one word, or else its number.
std::string column_key(text_dialect const& dialect, std::size_t column);

}  // namespace lull
