// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/labelled_rows.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/host_memory.hpp>
#include <lull/host/io/text_source.hpp>
#include <lull/host/task/counter_random.hpp>

namespace lull {
namespace {

constexpr std::size_t max_line_bytes = 2UL << 20;  // 65,536 columns of 32 bytes
constexpr std::size_t block_bytes = 2 * max_line_bytes;

/// 4, and 4 again: a growing vector exists twice at most, and later the tasks copy all rows.
constexpr std::uint64_t bytes_per_column = 2 * sizeof(float);

constexpr bool blank(char byte) noexcept { return byte == ' ' || byte == '\t' || byte == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Takes the next column off the line, which has one column more than commas.
std::string_view next_column(std::string_view& line) {
  auto const comma = std::min(line.find(','), line.size());
  std::string_view const column = line.substr(0, comma);
  line.remove_prefix(std::min(comma + 1, line.size()));
  return trimmed(column);
}

std::uint64_t columns_of(std::string_view line) {
  return static_cast<std::uint64_t>(std::count(line.begin(), line.end(), ',')) + 1;
}

enum class reading { number, no_number, out_of_range };

template <class Number>
reading read_number(std::string_view column, Number& number) {
  if (column.starts_with('+') && !column.starts_with("+-")) column.remove_prefix(1);  // allowed by C, not by from_chars
  auto const [rest, code] = std::from_chars(column.data(), column.data() + column.size(), number);
  if (rest != column.data() + column.size() || code == std::errc::invalid_argument) return reading::no_number;
  return code == std::errc{} ? reading::number : reading::out_of_range;
}

bool is_header(std::string_view line) {
  for (auto left = columns_of(line); left != 0; --left) {
    double number = 0;
    if (read_number(next_column(line), number) != reading::no_number) return false;
  }
  return true;
}

class row_reader {
 public:
  /// `features` 0: as many as there are, and then a label.
  row_reader(std::string const& path, std::uint64_t features, labelled_limits const& limits, file_memory const& memory)
      : path_(path), features_(features), limits_(limits), memory_(memory) {}

  labelled_rows read() {
    bool const packed = path_.ends_with(".gz");
    text_source source{path_, packed ? compression::gzip : compression::none, limits_.max_bytes};
    memory_.require(source.expect(",\n") * bytes_per_column);
    text_block block{.bytes = std::vector<char>(block_bytes)};
    while (source.next(block)) {
      std::string_view left = block.text();
      while (!left.empty()) {
        std::string_view const line = left.substr(0, left.find('\n'));
        left.remove_prefix(line.size() + 1);
        ++line_;
        read_line(line);
      }
      memory_.require((rows_.values.size() + rows_.labels.size()) * bytes_per_column);
    }
    return finish();
  }

 private:
  void read_line(std::string_view line) {
    if (line.size() > max_line_bytes) refuse("a line of more than " + std::to_string(max_line_bytes) + " bytes");
    line = trimmed(line);
    if (line.empty()) return;
    if (columns_ == 0) {
      set_columns(columns_of(line));
      if (is_header(line)) return;
    }
    if (auto const columns = columns_of(line); columns != columns_) {
      refuse(std::to_string(columns) + " columns instead of " + std::to_string(columns_) + " as in line " +
             std::to_string(first_line_));
    }
    if (rows_.rows == std::min<std::uint64_t>(limits_.max_rows, std::numeric_limits<std::uint32_t>::max())) {
      refuse("more rows than the limit max_rows = " + std::to_string(limits_.max_rows));
    }
    std::uint64_t const numbers = features_ != 0 ? features_ : columns_ - 1;
    for (std::uint64_t column = 1; column <= numbers; ++column)
      rows_.values.push_back(value_of(next_column(line), column));
    if (numbers < columns_) rows_.labels.push_back(label_of(next_column(line)));
    ++rows_.rows;
  }

  void set_columns(std::uint64_t columns) {
    first_line_ = line_;
    columns_ = columns;
    if (features_ != 0) {
      if (columns == features_ || columns == features_ + 1) return;
      refuse(std::to_string(columns) + " columns, but rows to class have " + std::to_string(features_) +
             " numbers, with or without a label after them");
    }
    if (columns == 1) refuse("one column, but a row has at least one number and then, after a comma, its label");
    if (columns - 1 > limits_.max_features) {
      refuse(std::to_string(columns - 1) +
             " numbers and a label, over the limit max_features = " + std::to_string(limits_.max_features));
    }
  }

  float value_of(std::string_view column, std::uint64_t number) const {
    float value = 0;
    auto result = read_number(column, value);
    if (result == reading::out_of_range) {  // which says not on which side
      double wide = 0;
      if (read_number(column, wide) == reading::number && std::abs(wide) < 1) return static_cast<float>(wide);
    }
    if (result == reading::number && std::isfinite(value)) return value;
    std::string const subject = column.empty() ? "column " + std::to_string(number) + " "
                                               : quote(column) + " in column " + std::to_string(number) + " ";
    if (column.empty()) refuse(subject + "is empty");
    if (result == reading::no_number) refuse(subject + "is not a number");
    refuse(subject + (result == reading::number ? "is not a finite number" : "does not fit a float"));
  }

  std::uint32_t label_of(std::string_view column) const {
    if (column.empty()) refuse("the label is empty");
    double label = 0;
    auto const result = read_number(column, label);
    std::string const subject = "the label " + quote(column) + " ";
    if (result == reading::no_number) refuse(subject + "is not a number");
    if (result == reading::out_of_range || !std::isfinite(label)) refuse(subject + "is not a finite number");
    if (label < 0) refuse(subject + "is negative");
    if (label != std::floor(label)) refuse(subject + "is not a whole number");
    if (label >= static_cast<double>(max_classes())) {
      refuse(subject + "is over the limit: max_classes = " + std::to_string(max_classes()) + " allows labels up to " +
             std::to_string(max_classes() - 1));
    }
    return static_cast<std::uint32_t>(label);
  }

  std::uint64_t max_classes() const { return std::clamp<std::uint64_t>(limits_.max_classes, 1, 1ULL << 31); }

  labelled_rows finish() {
    line_ = 0;  // the whole file is meant
    if (columns_ == 0) refuse("is empty");
    if (rows_.rows == 0) refuse("holds a line of column names, but no rows");
    rows_.features = static_cast<std::uint32_t>(rows_.values.size() / rows_.rows);
    if (rows_.labels.empty()) return std::move(rows_);
    auto const [lowest, highest] = std::minmax_element(rows_.labels.begin(), rows_.labels.end());
    if (*lowest == *highest && features_ == 0) {
      refuse("holds a single class: every label is " + std::to_string(*lowest) + ", so there is nothing to tell apart");
    }
    rows_.classes = *highest + 1;
    return std::move(rows_);
  }

  [[noreturn]] void refuse(std::string const& message) const { throw input_error(path_, line_, message); }

  std::string const& path_;
  std::uint64_t const features_;
  labelled_limits const& limits_;
  file_memory const& memory_;
  labelled_rows rows_;
  std::uint64_t columns_ = 0;  // 0: no line yet
  std::uint64_t first_line_ = 0;
  std::uint64_t line_ = 0;
};

labelled_rows read_rows(std::string const& path, std::uint64_t features, labelled_limits const& limits) {
  file_memory const memory{path, "take fewer rows, or a computer with more memory", limits.memory};
  try {
    return row_reader{path, features, limits, memory}.read();
  } catch (text_error const& fault) {
    throw input_error(path, 0, fault.what());
  } catch (std::bad_alloc const&) {
    throw limit_error(path + ": not enough memory for its rows on this computer");
  }
}

}  // namespace

labelled_rows read_labelled_rows(std::string const& path, labelled_limits const& limits) {
  return read_rows(path, 0, limits);
}

labelled_rows read_rows_to_class(std::string const& path, std::uint64_t features, labelled_limits const& limits) {
  if (features == 0 || features > limits.max_features)
    throw std::logic_error{"rows to class of no numbers, or of too many"};
  return read_rows(path, features, limits);
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
