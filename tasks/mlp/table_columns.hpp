// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/io/text_dialect.hpp>

namespace lull {

/// How a table of rows is read, as far as a user says so.
struct table_options {
  std::string label{};  // the label's column, by name or number from 1; empty: found
  std::string drop{};   // columns that are left out, with commas between them, or "none"; empty: found
  dialect_options dialect{};
  std::vector<std::string> classes{};  // names of classes that a model knows; empty: as in the file
};

/// Which columns hold the numbers and which the label, from 0.
struct table_columns {
  std::vector<std::size_t> values;
  std::optional<std::size_t> label;
  std::string taken;  // one line: the dialect, these columns, what is left out, what else the text could mean
  std::string fault;  // why they cannot be told; empty: they can
};

/// Where nothing is given, row numbers are left out (is_row_number). The label is the column called label, target or
/// class, the first of these that exists; or else the only column of text; or else a first column called y; or else the
/// last column. `features` not 0: so many numbers a row, with a
/// label or without.
table_columns find_table_columns(text_dialect const& dialect, std::uint64_t features, table_options const& given);

}  // namespace lull
