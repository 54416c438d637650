// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/label_reader.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <lull/tasks/mlp/label_text.hpp>
#include <lull/tasks/mlp/labelled_rows.hpp>

namespace lull {
namespace {

constexpr std::size_t max_named = 16;     // classes that are told with their rows
constexpr std::uint64_t few_classes = 8;  // each row of a small table may have a class of its own

}  // namespace

label_reader::label_reader(delimited_text& text, table_columns const& columns, std::vector<std::string> known,
                           bool to_class, std::uint64_t max_classes)
    : text_(text),
      columns_(columns),
      names_(std::move(known)),
      known_(!names_.empty()),
      to_class_(to_class),
      max_classes_(std::clamp<std::uint64_t>(max_classes, 1, 1ULL << 31)) {
  for (std::uint32_t at = 0; at < names_.size(); ++at) numbers_.emplace(names_[at], at);
  if (!columns.label) return;
  text_column const& column = text.dialect().columns[*columns.label];
  named_ = known_ || (column.words && !column.number);
  place_ = column_text(text.dialect(), *columns.label);
  key_ = column_key(text.dialect(), *columns.label);
}

std::uint32_t label_reader::read(std::string_view field) {
  if (!field.empty()) return named_ ? class_of(field) : number_of(field);
  bool const ends_rows =
      *columns_.label + 1 == text_.dialect().columns.size() && text_.dialect().columns[*columns_.label].name.empty();
  text_.refuse("the label in " + place_ + " is empty: " +
               (ends_rows ? "if each row ends in a delimiter, drop=-1 leaves that column out; or else leave the row out"
                          : "leave the row out, or fill it in"));
}

void label_reader::refuse(std::string_view field, std::string const& fault) const {
  text_.refuse("the label " + quote(field) + " in " + place_ + " " + fault);
}

void label_reader::refuse_column(std::uint64_t line, std::string const& reason) const {
  text_.refuse_at(
      line, place_ + " is text, and no label was given; " + reason + ": give label=" + any_key() + " or drop=" + key_);
}

std::uint32_t label_reader::number_of(std::string_view field) {
  if (is_missing_mark(field)) refuse(field, "is a mark for a missing value: leave the row out");
  double label = 0;
  auto const result = text_.read_number(field, label);
  if (result == number_reading::no_number) refuse(field, "is not a number, as other labels are: mend it");
  if (result == number_reading::out_of_range || !std::isfinite(label)) refuse(field, "is not a finite number");
  if (label != std::floor(label)) {
    refuse(field, "is not a whole number: labels are classes, 0, 1, 2 and so on, or text; label=" + any_key() +
                      " takes another column");
  }
  if (label == -1 && !to_class_) {
    if (minus_line_ == 0) minus_line_ = text_.line();
    return minus_one;
  }
  if (label < 0) refuse(field, "is negative: classes count from 0, or are -1 and 1");
  if (label >= static_cast<double>(max_classes_) && to_class_) {
    refuse(field, "is no class of the model, which has " + std::to_string(max_classes_) +
                      ": leave the row out, or the column with drop=" + key_);
  }
  if (label >= static_cast<double>(max_classes_)) {
    refuse(field, "is over the limit: max_classes = " + std::to_string(max_classes_) + " allows labels up to " +
                      std::to_string(max_classes_ - 1));
  }
  return static_cast<std::uint32_t>(label);
}

std::uint32_t label_reader::class_of(std::string_view field) {
  if (auto const found = numbers_.find(field); found != numbers_.end()) return found->second;
  double number = 0;
  if (known_ && text_.read_number(field, number) == number_reading::number && std::abs(number) < 0x1p31 &&
      number == std::floor(number)) {  // +1 and 1.0 are the class 1
    auto const found = numbers_.find(std::to_string(static_cast<std::int64_t>(number)));
    if (found != numbers_.end()) return found->second;
  }
  if (to_class_ && !known_) {
    refuse(field, "is text, but the model's classes are numbers: drop=" + key_ + " leaves the labels out");
  }
  std::string const fault = label_fault(field);
  if (!fault.empty()) refuse(field, fault);
  if (columns_.guessed && !known_ && !value_kind(field).empty())
    refuse_column(text_.line(), quote(field) + " looks like " + std::string{value_kind(field)});
  if (is_missing_mark(field))
    refuse(field, "is a mark for a missing value: leave the row out, or give the class another name");
  if (known_) refuse(field, "is no class of the model: leave the row out, or the column with drop=" + key_);
  if (names_.size() == max_classes_) {
    std::string const limit = "more classes than the limit max_classes = " + std::to_string(max_classes_);
    if (columns_.guessed) refuse_column(text_.line(), "it has " + limit);
    text_.refuse(limit);
  }
  names_.emplace_back(field);
  return numbers_.emplace(field, static_cast<std::uint32_t>(names_.size() - 1)).first->second;
}

void label_reader::sort_classes(labelled_rows& rows) const {
  std::vector<std::uint32_t> number(names_.size());
  std::uint32_t next = 0;
  for (auto const& [name, at] : numbers_) {
    number[at] = next;
    rows.names.classes.push_back(name);
    ++next;
  }
  for (std::uint32_t& label : rows.labels) label = number[label];
}

/// Makes two classes of the labels -1 and 1.
void label_reader::join_signs(labelled_rows& rows) {
  if (minus_line_ == 0) return;
  for (std::uint32_t& label : rows.labels) {
    if (label != minus_one && label != 1) {
      text_.refuse_at(minus_line_, "the label `-1` in " + place_ +
                                       " is negative: classes count from 0, or are -1 and 1; another row has " +
                                       std::to_string(label));
    }
    label = label == 1 ? 1 : 0;
  }
  rows.names.classes = {"-1", "1"};
}

std::string label_reader::said_of(labelled_rows const& rows) const {
  if (rows.names.classes.empty()) {
    if (to_class_) return {};
    std::vector<char> seen(rows.classes);  // not counted: a sum that waits for the one before takes longer
    for (std::uint32_t const label : rows.labels) seen[label] = 1;
    auto const used = std::count(seen.begin(), seen.end(), 1);
    return "; " + std::to_string(rows.classes) + " classes by number" +
           (static_cast<std::uint32_t>(used) == rows.classes ? "" : ", " + std::to_string(used) + " of them with rows");
  }
  std::vector<std::uint64_t> counts(rows.classes);
  for (std::uint32_t const label : rows.labels) ++counts[label];
  std::string said = "; " + std::to_string(counts.size()) + " classes by name" +
                     (to_class_ ? "" : ", in the order of the alphabet") + ", and their rows: ";
  for (std::size_t at = 0; at < std::min(counts.size(), max_named); ++at)
    said += (at == 0 ? "" : ", ") + class_text(rows.names.classes[at]) + " " + std::to_string(counts[at]);
  return said + (counts.size() > max_named ? ", …" : "");
}

void label_reader::finish(labelled_rows& rows) {
  if (rows.labels.empty()) return;
  if (known_) {
    rows.names.classes = names_;
  } else if (named_) {
    sort_classes(rows);
  } else {
    join_signs(rows);
  }
  bool const by_name = !rows.names.classes.empty();
  std::uint32_t lowest = rows.labels.front();
  std::uint32_t highest = lowest;
  for (std::uint32_t const label : rows.labels) {
    lowest = std::min(lowest, label);
    highest = std::max(highest, label);
  }
  if (lowest == highest && !to_class_) {
    text_.refuse_at(0, "holds a single class: every label in " + place_ + " is " +
                           (by_name ? class_text(rows.names.classes[lowest]) : std::to_string(lowest)) +
                           ", so there is nothing to tell apart");
  }
  rows.classes = by_name ? static_cast<std::uint32_t>(rows.names.classes.size()) : highest + 1;
  if (columns_.guessed && !to_class_ && rows.classes > few_classes && rows.classes > rows.rows / 2) {
    refuse_column(text_.header_line(), "it has " + std::to_string(rows.classes) + " different values in " +
                                           std::to_string(rows.rows) + " rows");
  }
  rows.taken += said_of(rows);
}

}  // namespace lull
