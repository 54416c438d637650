// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/labelled_rows.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/delimited_text.hpp>
#include <lull/host/io/host_memory.hpp>
#include <lull/host/io/short_number.hpp>
#include <lull/host/io/text_source.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/mlp/label_reader.hpp>
#include <lull/tasks/mlp/label_text.hpp>
#include <lull/tasks/mlp/table_columns.hpp>

namespace lull {
namespace {

constexpr std::size_t max_line_bytes = 2UL << 20;  // 65,536 columns of 32 bytes

/// 4, and 4 again: a growing vector exists twice at most, and later the tasks copy all rows.
constexpr std::uint64_t bytes_per_column = 2 * sizeof(float);

class row_reader {
 public:
  /// `features` 0: as many as there are, and then a label.
  row_reader(std::string const& path, std::uint64_t features, labelled_limits const& limits, table_options const& table,
             file_memory const& memory)
      : features_(features),
        limits_(limits),
        memory_(memory),
        text_(path, table.dialect, {.max_bytes = limits.max_bytes, .max_line_bytes = max_line_bytes}),
        columns_(find_table_columns(text_.dialect(), features, table)),
        labels_(text_, columns_, table.names.classes, features != 0, limits.max_classes) {}

  labelled_rows read() {
    memory_.require(text_.expect(text_marks::field_ends) * bytes_per_column);
    text_record record;
    for (bool more = text_.next(record); more; more = text_.next(record)) {
      if (rows_.rows == 0) check_columns();
      read_row(record);
      if (rows_.rows % 4096 == 0) require_memory();
      read_simple_rows();
    }
    if (rows_.rows == 0) check_columns();
    return finish();
  }

 private:
  void check_columns() {
    std::size_t const columns = text_.dialect().columns.size();
    if (columns == 0) return;
    std::uint64_t const line = text_.header_line();
    if (features_ == 0 && columns == 1)
      text_.refuse_at(line, "one column, but a row has at least one number and then, after a comma, its label");
    check_names(line);
    if (!columns_.fault.empty()) text_.refuse_at(line, columns_.fault);
    if (columns_.values.size() > limits_.max_features) {
      text_.refuse_at(
          line, std::to_string(columns_.values.size()) +
                    " numbers and a label, over the limit max_features = " + std::to_string(limits_.max_features));
    }
  }

  /// A model keeps the names, and finds its columns by them.
  void check_names(std::uint64_t line) const {
    for (std::size_t column = 0; column < text_.dialect().columns.size(); ++column) {
      std::string const& name = text_.dialect().columns[column].name;
      if (is_utf8(name)) continue;
      text_.refuse_at(line, "the name " + quote(name) + " of column " + std::to_string(column + 1) +
                                " is not UTF-8: save the file as UTF-8");
    }
  }

  void require_memory() const { memory_.require((rows_.values.size() + rows_.labels.size()) * bytes_per_column); }

  std::uint64_t max_rows() const {
    return std::min<std::uint64_t>(limits_.max_rows, std::numeric_limits<std::uint32_t>::max());
  }

  /// Reads rows without quotes, blanks and empty fields at sight, up to the first row that is otherwise.
  void read_simple_rows() {
    if (!std::is_sorted(columns_.values.begin(), columns_.values.end())) return;
    if (text_.dialect().decimal != '.' || text_.dialect().delimiter.size() != 1 || text_.dialect().delimiter == " ")
      return;
    if (parts_.empty()) {
      parts_.assign(text_.dialect().columns.size(), part::dropped);
      for (std::size_t const column : columns_.values) parts_[column] = part::value;
      if (columns_.label) parts_[*columns_.label] = part::label;
    }
    text_.read_simple_rows([&](char const* row, char const* end, std::uint64_t& rows) {
      for (char const* after = row; row != end && rows_.rows < max_rows(); row = after, ++rows) {
        std::size_t const values = rows_.values.size();
        after = read_simple_row(row, end);
        if (after != nullptr) continue;
        rows_.values.resize(values);
        break;
      }
      require_memory();
      return row;
    });
  }

  /// Returns where the next row begins; null: this one is not simple, and only values were added.
  char const* read_simple_row(char const* const begin, char const* end) {
    char const mark = text_.dialect().delimiter.front();
    char const* at = begin;
    std::uint32_t label = 0;
    for (std::size_t column = 0; column < parts_.size(); ++column) {
      if (column != 0 && *at++ != mark) return nullptr;
      if (parts_[column] == part::value) {
        float value = 0;
        if ((at = read_simple_value(at, end, value)) == nullptr) return nullptr;
        rows_.values.push_back(value);
        continue;
      }
      char const* const field = at;
      while (*at != mark && *at != '\n' && *at != '\r' && *at != '"') ++at;
      if (*at == '"') return nullptr;
      if (parts_[column] == part::label && !labels_.find_simple({field, static_cast<std::size_t>(at - field)}, label))
        return nullptr;
    }
    if (*at == '\r') ++at;
    if (*at != '\n' || at - begin > static_cast<std::ptrdiff_t>(max_line_bytes)) return nullptr;
    if (columns_.label) rows_.labels.push_back(label);
    ++rows_.rows;
    return at + 1;
  }

  static char const* read_simple_value(char const* at, char const* end, float& value) {
    bool const negative = *at == '-';
    if (char const* const after = read_short_value(at + (negative ? 1 : 0), value);
        after != nullptr && *after != 'e' && *after != 'E') {
      if (negative) value = -value;
      return after;
    }
    auto const [after, code] = std::from_chars(at, end, value);
    return code == std::errc{} && std::isfinite(value) ? after : nullptr;
  }

  void read_row(text_record const& record) {
    if (rows_.rows == max_rows())
      text_.refuse("more rows than the limit max_rows = " + std::to_string(limits_.max_rows));
    for (std::size_t const column : columns_.values) rows_.values.push_back(value_of(record.fields[column], column));
    if (columns_.label) rows_.labels.push_back(labels_.read(record.fields[*columns_.label]));
    ++rows_.rows;
  }

  float value_of(std::string_view field, std::size_t column) {
    float value = 0;
    auto result = text_.read_number(field, value);
    if (result == number_reading::out_of_range) {  // which says not on which side
      double wide = 0;
      if (text_.read_number(field, wide) == number_reading::number && std::abs(wide) < 1)
        return static_cast<float>(wide);
    }
    if (result == number_reading::number && std::isfinite(value)) return value;
    std::string const place = column_text(text_.dialect(), column);
    text_column const& of = text_.dialect().columns[column];
    if (field.empty()) {
      bool const ends_rows = column + 1 == text_.dialect().columns.size() && of.name.empty();
      text_.refuse(place + " is empty" + (ends_rows ? ": if each row ends in a delimiter, give drop=-1" : ""));
    }
    std::string const subject = quote(field) + " in " + place + " ";
    if (result == number_reading::no_number) refuse_text(field, subject, column);
    text_.refuse(subject + (result == number_reading::number ? "is not a finite number" : "does not fit a float"));
  }

  [[noreturn]] void refuse_text(std::string_view field, std::string const& subject, std::size_t column) const {
    std::string const key = "drop=" + column_key(text_.dialect(), column);
    if (is_missing_mark(field))
      text_.refuse(subject + "is a mark for a missing value: leave the row out, or the column with " + key);
    if (auto const kind = value_kind(field); !kind.empty())
      text_.refuse(subject + "is no number, but " + std::string{kind} + ": write numbers alone, or give " + key);
    text_column const& of = text_.dialect().columns[column];
    text_.refuse(subject + "is not a number" + (of.words && !of.number ? ": " + key + " leaves the column out" : ""));
  }

  /// Keeps the names of the columns of numbers, if each has one of its own, and which column is the label.
  void name_columns() {
    if (columns_.label) rows_.names.label = text_.dialect().columns[*columns_.label].name;
    rows_.names.label_place = columns_.label_place;
    std::set<std::string_view> names;
    for (std::size_t const column : columns_.values) {
      std::string const& name = text_.dialect().columns[column].name;
      if (!name.empty() && name.find_first_of("\r\n\t") == name.npos) names.insert(name);
    }
    if (names.size() != columns_.values.size()) return;
    for (std::size_t const column : columns_.values) rows_.names.values.push_back(text_.dialect().columns[column].name);
  }

  labelled_rows finish() {
    if (text_.header_line() == 0) text_.refuse_at(0, "is empty");
    if (rows_.rows == 0) text_.refuse_at(0, "holds a line of column names, but no rows");
    rows_.features = static_cast<std::uint32_t>(rows_.values.size() / rows_.rows);
    rows_.taken = columns_.taken;
    name_columns();
    labels_.finish(rows_);
    return std::move(rows_);
  }

  enum class part : std::uint8_t { dropped, value, label };

  std::uint64_t const features_;
  labelled_limits const& limits_;
  file_memory const& memory_;
  delimited_text text_;
  table_columns const columns_;
  labelled_rows rows_;
  label_reader labels_;
  std::vector<part> parts_;  // (columns,) of the text
};

/// Its size would be read as a row, and its entries as others.
void refuse_matrix(std::string const& path, std::uint64_t max_bytes) {
  constexpr std::string_view banner = "%%MatrixMarket";
  text_source source{path, max_bytes};
  if (source.peek(std::min<std::uint64_t>(banner.size(), max_bytes)) != banner) return;
  throw input_error(path, 1, "is a Matrix Market matrix, and rows of numbers with a label are needed: write it as CSV");
}

labelled_rows read_rows(std::string const& path, std::uint64_t features, labelled_limits const& limits,
                        table_options const& table) {
  file_memory const memory{path, "take fewer rows, or a computer with more memory", limits.memory};
  try {
    refuse_matrix(path, limits.max_bytes);
    return row_reader{path, features, limits, table, memory}.read();
  } catch (text_error const& fault) {
    throw input_error(path, 0, fault.what());
  } catch (std::bad_alloc const&) {
    throw limit_error(path + ": not enough memory for its rows on this computer");
  }
}

}  // namespace

labelled_rows read_labelled_rows(std::string const& path, labelled_limits const& limits, table_options const& table) {
  return read_rows(path, 0, limits, table);
}

labelled_rows read_rows_to_class(std::string const& path, std::uint64_t features, labelled_limits const& limits,
                                 table_options const& table) {
  if (features == 0 || features > limits.max_features)
    throw std::logic_error{"rows to class of no numbers, or of too many"};
  return read_rows(path, features, limits, table);
}

row_split split_rows(std::uint32_t rows, std::uint64_t seed) {
  std::vector<std::uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  std::uint32_t const held_out = rows / 5;
  counter_random const random{seed, 0};
  for (std::uint32_t at = 0; at < held_out; ++at) std::swap(order[at], order[at + random.below(at, rows - at)]);
  auto const middle = order.begin() + held_out;
  std::sort(order.begin(), middle);
  std::sort(middle, order.end());
  return {.training = {middle, order.end()}, .held_out = {order.begin(), middle}};
}

}  // namespace lull
