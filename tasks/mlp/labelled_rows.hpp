// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/io/host_memory.hpp>
#include <lull/tasks/mlp/table_columns.hpp>

namespace lull {

/// Rows of numbers, each with its class.
struct labelled_rows {
  std::uint32_t rows = 0;
  std::uint32_t features = 0;         // numbers a row
  std::uint32_t classes = 0;          // highest label + 1; a label in between may be without rows
  std::vector<float> values;          // (rows, features) f32, row by row
  std::vector<std::uint32_t> labels;  // (rows,) u32, below classes
  table_names names{};
  std::string taken{};  // how the columns were read, one line
};

/// Limits on a file. A larger file is refused, with the name of the limit.
struct labelled_limits {
  std::uint64_t max_rows = 1ULL << 27;
  std::uint64_t max_features = 1ULL << 16;
  std::uint64_t max_classes = 1ULL << 16;
  /// Of text, after decompression. It takes at most four times that in memory: 8 bytes for a number of one digit and a
  /// comma.
  std::uint64_t max_bytes = 1ULL << 34;
  std::optional<free_memory> memory{};  // that the rows may take; none: what is free
};

/// Reads a table (delimited_text): a row a line, numbers and a label: 0, 1, 2 and so on (3.0 is 3), -1 and 1 alone, or
/// text, whose classes are numbered in the order of their names. The dialect and a header are found from the first
/// rows, the columns as find_table_columns says.
///
/// Values are rounded to the nearest float, small ones to 0.
///
/// Throws input_error with file and line: another number of columns than in the first line, what is not a number, an
/// infinity or NaN, a number too large for a float (or below 1e-307 and not 0), a label that is negative, fractional,
/// too large or a mark for a missing value, a label or a column's name that is not UTF-8, a label with a line end, a
/// label in the only column of text that holds dates, amounts or a class for most rows, a Matrix Market
/// file, a line over 2 MiB, damaged or truncated gzip data, a limit exceeded, a file without rows, a file whose rows
/// all have one label. limit_error where memory does not suffice: before reading, where the file's size and samples of
/// its text tell, or else as soon as the rows that were read tell.
labelled_rows read_labelled_rows(std::string const& path, labelled_limits const& limits = {},
                                 table_options const& table = {});

/// Reads rows of `features` numbers each, all with or all without labels: without, `labels` is empty and `classes` 0.
/// All rows may be of one class. Classes without names in `table` are
/// numbers below `max_classes`, and text is refused. Also throws
/// input_error for another number of columns.
labelled_rows read_rows_to_class(std::string const& path, std::uint64_t features, labelled_limits const& limits = {},
                                 table_options const& table = {});

/// Which rows train and which are held out for judging; both ascending, together every row once.
struct row_split {
  std::vector<std::uint32_t> training;
  std::vector<std::uint32_t> held_out;  // floor(rows / 5) of them
};

/// Holds out a fifth, the same for the same number of rows and seed on every machine: the first floor(rows / 5) of the
/// row numbers shuffled by Fisher and Yates from the start, where step i swaps place i with place i +
/// counter_random{seed, 0}.below(i, rows - i).
row_split split_rows(std::uint32_t rows, std::uint64_t seed);

}  // namespace lull
