// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/labelled_rows.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
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
#include <lull/host/task/counter_random.hpp>
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
        names_(table.names.classes) {
    for (std::uint32_t at = 0; at < names_.size(); ++at) numbers_.emplace(names_[at], at);
    known_ = !names_.empty();
  }

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
    if (!columns_.fault.empty()) text_.refuse_at(line, columns_.fault);
    if (columns_.values.size() > limits_.max_features) {
      text_.refuse_at(
          line, std::to_string(columns_.values.size()) +
                    " numbers and a label, over the limit max_features = " + std::to_string(limits_.max_features));
    }
    named_ = columns_.label && (known_ || !text_.dialect().columns[*columns_.label].number) &&
             (known_ || text_.dialect().columns[*columns_.label].words);
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
    for (;;) {
      std::string_view const rest = text_.rest();
      char const* row = rest.data();
      char const* const end = row + rest.size();
      std::uint64_t rows = 0;
      for (char const* after = row; row != end && rows_.rows < max_rows(); row = after, ++rows) {
        std::size_t const values = rows_.values.size();
        after = read_simple_row(row, end);
        if (after != nullptr) continue;
        rows_.values.resize(values);
        break;
      }
      if (rest.empty()) return;
      text_.advance(row, rows);
      require_memory();
      if (row != end) return;
    }
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
      if (parts_[column] == part::label && !find_simple_label({field, static_cast<std::size_t>(at - field)}, label))
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

  /// Whether the label is a known class, or a number without sign and point that is allowed.
  bool find_simple_label(std::string_view field, std::uint32_t& label) const {
    if (named_) {
      auto const found = numbers_.find(field);
      if (found != numbers_.end()) label = found->second;
      return found != numbers_.end();
    }
    std::uint64_t number = 0;
    if (read_short_id(field.data(), number) != field.data() + field.size() || number >= max_classes()) return false;
    label = static_cast<std::uint32_t>(number);
    return true;
  }

  void read_row(text_record const& record) {
    if (rows_.rows == max_rows())
      text_.refuse("more rows than the limit max_rows = " + std::to_string(limits_.max_rows));
    for (std::size_t const column : columns_.values) rows_.values.push_back(value_of(record.fields[column], column));
    if (columns_.label) {
      std::string_view const field = record.fields[*columns_.label];
      rows_.labels.push_back(named_ ? class_of(field) : label_of(field));
    }
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
    if (field.empty()) text_.refuse(place + " is empty");
    std::string const subject = quote(field) + " in " + place + " ";
    if (result == number_reading::no_number) text_.refuse(subject + "is not a number");
    text_.refuse(subject + (result == number_reading::number ? "is not a finite number" : "does not fit a float"));
  }

  std::uint32_t label_of(std::string_view field) {
    if (field.empty()) text_.refuse("the label is empty");
    double label = 0;
    auto const result = text_.read_number(field, label);
    std::string const subject = "the label " + quote(field) + " ";
    if (result == number_reading::no_number) text_.refuse(subject + "is not a number");
    if (result == number_reading::out_of_range || !std::isfinite(label))
      text_.refuse(subject + "is not a finite number");
    if (label < 0) text_.refuse(subject + "is negative");
    if (label != std::floor(label)) text_.refuse(subject + "is not a whole number");
    if (label >= static_cast<double>(max_classes())) {
      text_.refuse(subject + "is over the limit: max_classes = " + std::to_string(max_classes()) +
                   " allows labels up to " + std::to_string(max_classes() - 1));
    }
    return static_cast<std::uint32_t>(label);
  }

  /// The class of a label that is text. Classes that the caller did not name are numbered as they come.
  std::uint32_t class_of(std::string_view field) {
    if (field.empty()) text_.refuse("the label is empty");
    if (auto const found = numbers_.find(field); found != numbers_.end()) return found->second;
    if (known_) text_.refuse("the label " + quote(field) + " is no class of the model");
    if (names_.size() == max_classes())
      text_.refuse("more classes than the limit max_classes = " + std::to_string(max_classes()));
    names_.emplace_back(field);
    return numbers_.emplace(field, static_cast<std::uint32_t>(names_.size() - 1)).first->second;
  }

  std::uint64_t max_classes() const { return std::clamp<std::uint64_t>(limits_.max_classes, 1, 1ULL << 31); }

  /// Numbers the classes in the order of their names, so that the order of the rows does not matter.
  void sort_classes() {
    std::vector<std::uint32_t> number(names_.size());
    std::uint32_t next = 0;
    for (auto const& [name, at] : numbers_) {
      number[at] = next;
      rows_.names.classes.push_back(name);
      ++next;
    }
    for (std::uint32_t& label : rows_.labels) label = number[label];
  }

  /// Keeps the names of the columns, if each has one of its own.
  void name_values() {
    std::set<std::string_view> names;
    for (std::size_t const column : columns_.values) {
      std::string const& name = text_.dialect().columns[column].name;
      if (!name.empty() && name.find_first_of("\r\n\t") == name.npos) names.insert(name);
    }
    if (names.size() != columns_.values.size()) return;
    for (std::size_t const column : columns_.values) rows_.names.values.push_back(text_.dialect().columns[column].name);
    if (columns_.label) rows_.names.label = text_.dialect().columns[*columns_.label].name;
  }

  labelled_rows finish() {
    if (text_.header_line() == 0) text_.refuse_at(0, "is empty");
    if (rows_.rows == 0) text_.refuse_at(0, "holds a line of column names, but no rows");
    rows_.features = static_cast<std::uint32_t>(rows_.values.size() / rows_.rows);
    rows_.taken = columns_.taken;
    name_values();
    if (rows_.labels.empty()) return std::move(rows_);
    if (named_ && !known_) sort_classes();
    if (named_ && known_) rows_.names.classes = names_;
    auto const [lowest, highest] = std::minmax_element(rows_.labels.begin(), rows_.labels.end());
    if (*lowest == *highest && features_ == 0) {
      text_.refuse_at(0, "holds a single class: every label is " +
                             (named_ ? rows_.names.classes[*lowest] : std::to_string(*lowest)) +
                             ", so there is nothing to tell apart");
    }
    rows_.classes = named_ ? static_cast<std::uint32_t>(rows_.names.classes.size()) : *highest + 1;
    if (named_) rows_.taken += "; " + std::to_string(rows_.classes) + " classes by name, in the order of the alphabet";
    return std::move(rows_);
  }

  enum class part : std::uint8_t { dropped, value, label };

  std::uint64_t const features_;
  labelled_limits const& limits_;
  file_memory const& memory_;
  delimited_text text_;
  table_columns const columns_;
  labelled_rows rows_;
  std::vector<std::string> names_;  // of classes, where labels are text
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  bool known_ = false;       // the caller named the classes
  bool named_ = false;       // labels are text
  std::vector<part> parts_;  // (columns,) of the text
};

labelled_rows read_rows(std::string const& path, std::uint64_t features, labelled_limits const& limits,
                        table_options const& table) {
  file_memory const memory{path, "take fewer rows, or a computer with more memory", limits.memory};
  try {
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
