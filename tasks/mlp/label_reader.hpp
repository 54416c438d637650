// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/io/delimited_text.hpp>
#include <lull/host/io/short_number.hpp>
#include <lull/tasks/mlp/table_columns.hpp>

namespace lull {

struct labelled_rows;

/// The labels of a table's rows: numbers 0, 1, 2 and so on, or -1 and 1, or names of classes. Errors: input_error with
/// file, line and column, and what to do. Not thread-safe.
class label_reader {
 public:
  /// `text` and `columns` must outlive it. `to_class`: for a model whose classes are `known`; none: they are numbers.
  label_reader(delimited_text& text, table_columns const& columns, std::vector<std::string> known, bool to_class,
               std::uint64_t max_classes);

  /// Whether the label is a known class, or a number without sign and point that is allowed.
  bool find_simple(std::string_view field, std::uint32_t& label) const;
  /// Reads the label of the row that `text` returned. Classes that have no number yet get one as they come.
  std::uint32_t read(std::string_view field);
  /// Numbers the classes of all rows in the order of their names, so that the order of the rows does not matter, and
  /// says which there are.
  void finish(labelled_rows& rows);

 private:
  static constexpr std::uint32_t minus_one = 0xffff'ffff;  // no number of a class: those are below 2^31

  std::string any_key() const { return text_.dialect().header ? "NAME" : "NUMBER"; }  // in advice
  std::uint32_t number_of(std::string_view field);
  std::uint32_t class_of(std::string_view field);
  [[noreturn]] void refuse(std::string_view field, std::string const& fault) const;
  [[noreturn]] void refuse_column(std::uint64_t line, std::string const& reason) const;
  void sort_classes(labelled_rows& rows) const;
  void join_signs(labelled_rows& rows);
  std::string said_of(labelled_rows const& rows) const;

  delimited_text& text_;
  table_columns const& columns_;
  std::vector<std::string> names_;  // of classes, where labels are text
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::string place_;  // "column 3 (kind)"
  std::string key_;    // of that column, for options
  bool const known_;
  bool const to_class_;
  bool named_ = false;            // labels are text
  std::uint64_t minus_line_ = 0;  // of the first label that is -1; 0: none yet
  std::uint64_t const max_classes_;
};

/// A call for each row would make reading slower.
[[gnu::always_inline]] inline bool label_reader::find_simple(std::string_view field, std::uint32_t& label) const {
  if (named_) {
    auto const found = numbers_.find(field);
    if (found != numbers_.end()) label = found->second;
    return found != numbers_.end();
  }
  std::uint64_t number = 0;
  if (read_short_id(field.data(), number) != field.data() + field.size() || number >= max_classes_) {
    label = minus_one;
    return minus_line_ != 0 && field == "-1";
  }
  label = static_cast<std::uint32_t>(number);
  return true;
}

}  // namespace lull
