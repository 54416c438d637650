// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <lull/graph/graph_sgd/rating_columns.hpp>
#include <lull/graph/graph_sgd/ratings.hpp>
#include <lull/graph/load/load_header.hpp>
#include <lull/graph/load/load_lines.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/delimited_text.hpp>
#include <lull/host/io/short_number.hpp>
#include <new>
#include <optional>
#include <string_view>

namespace lull {
namespace {

class rating_reader {
 public:
  rating_reader(std::string const& path, rating_limits const& limits, rating_format const& format,
                std::optional<detail::matrix_header> const& matrix)
      : limits_(limits),
        memory_(path, "take fewer ratings, or a computer with more memory", limits.memory),
        text_(path, format.dialect, {.max_bytes = limits.max_bytes, .max_line_bytes = detail::max_line_bytes}),
        first_id_(matrix ? 1 : 0),
        size_(matrix) {
    delimiter_ = text_.dialect().delimiter;
    if (matrix) {
      begin_matrix();
    } else {
      columns_ = find_rating_columns(text_.dialect(), format.columns);
    }
  }

  ratings read() {
    text_record record;
    bool more = text_.next(record);  // a header is skipped with it
    if (text_.dialect().columns.empty()) text_.refuse_at(0, text_.line() == 0 ? "is empty" : "holds no ratings");
    if (!columns_.fault.empty()) text_.refuse_at(text_.header_line(), columns_.fault);
    std::uint64_t const expected = text_.expect(text_marks::line_ends);
    memory_.require(expected * sizeof(rating));
    made_.all.reserve(std::min(expected + expected / 16, limits_.max_ratings));
    for (; more; more = text_.next(record)) {
      add(record);
      read_simple_rows();
    }
    memory_.require(made_.all.size() * sizeof(rating));
    if (made_.all.empty()) text_.refuse_at(0, "holds no ratings");
    made_.users = static_cast<std::uint32_t>(size_ ? size_->rows : ids_[0]);
    made_.items = static_cast<std::uint32_t>(size_ ? size_->columns : ids_[1]);
    if (size_) finish_matrix();
    made_.taken = columns_.taken;
    return std::move(made_);
  }

 private:
  void begin_matrix() {
    text_record record;
    text_.next(record);  // the size line, which the reader of rows takes for the first
    for (std::uint64_t const each : {size_->rows, size_->columns}) {
      if (each > limits_.max_ids)
        text_.refuse("declares " + std::to_string(each) +
                     " rows or columns, over the limit max_ids = " + std::to_string(limits_.max_ids));
    }
    columns_ = {.at = {0, 1, 2},
                .taken = std::string{"a Matrix Market matrix: rows are users, columns are items, both counted from 1"} +
                         (size_->symmetric ? "; symmetric: entries beside the diagonal count both ways" : ""),
                .fault = {}};
  }

  /// Adds the other triangle of a symmetric matrix.
  void finish_matrix() {
    std::size_t const entries = made_.all.size();
    if (size_->entries != entries)
      text_.refuse_at(0,
                      "declares " + std::to_string(size_->entries) + " entries, but holds " + std::to_string(entries));
    if (!size_->symmetric) return;
    auto const count = [&](auto const& is_it) { return std::count_if(made_.all.begin(), made_.all.end(), is_it); };
    auto const below = static_cast<std::size_t>(count([](rating const& each) { return each.user > each.item; }));
    auto const above = static_cast<std::size_t>(count([](rating const& each) { return each.user < each.item; }));
    if (below != 0 && above != 0)
      text_.refuse_at(0, "says symmetric, so one triangle holds all, but has entries on both sides of the diagonal");
    if (entries + below + above > limits_.max_ratings) refuse_count();
    memory_.require((entries + below + above) * sizeof(rating));
    made_.all.reserve(entries + below + above);
    for (std::size_t at = 0; at < entries; ++at) {
      rating const each = made_.all[at];
      if (each.user != each.item) made_.all.push_back({each.item, each.user, each.value});
    }
  }

  [[noreturn]] void refuse_count() const {
    text_.refuse("more ratings than the limit max_ratings = " + std::to_string(limits_.max_ratings));
  }

  void add(text_record const& record) {
    rating given{};
    given.user = id_of(record, 0);
    given.item = id_of(record, 1);
    given.value = value_of(record);
    push(given);
  }

  void push(rating const& given) {
    if (made_.all.size() == limits_.max_ratings) refuse_count();
    made_.all.push_back(given);
  }

  /// Reads rows of digits without quotes or blanks at sight, up to the first row that is otherwise.
  void read_simple_rows() {
    if (columns_.at != std::array<std::size_t, 3>{0, 1, 2} || text_.dialect().decimal == ',') return;
    std::size_t const others = text_.dialect().columns.size() - 3;
    bool const runs = delimiter_ == " ";
    if (runs && others != 0) return;
    char const mark = delimiter_.front();
    char const second = delimiter_.size() == 2 ? delimiter_[1] : '\0';
    auto const separated = [&](char const* at) noexcept -> char const* {
      if (second != '\0') return *at == mark && at[1] == second ? at + 2 : nullptr;
      if (*at == mark) return at + 1;
      return runs && *at == '\t' ? at + 1 : nullptr;
    };
    bool const points = text_.dialect().decimal == '.';
    std::uint64_t const first = first_id_;
    std::uint64_t const ends[2] = {(size_ ? size_->rows : limits_.max_ids), (size_ ? size_->columns : limits_.max_ids)};
    text_.read_simple_rows([&](char const* row, char const* end, std::uint64_t& read) {
      char const* at = row;
      std::uint64_t rows = 0;
      std::uint64_t highest[2] = {ids_[0], ids_[1]};
      auto const room = limits_.max_ratings - made_.all.size();
      for (; row != end && rows < room; ++rows) {
        std::uint64_t user = 0;
        std::uint64_t item = 0;
        float value = 0;
        at = read_short_id(row, user);
        if (at == nullptr || (at = separated(at)) == nullptr) break;
        at = read_short_id(at, item);
        if (at == nullptr || (at = separated(at)) == nullptr) break;
        char const* const begin = at;
        at = read_short_value(at, value);
        if (at == nullptr || (!points && std::find(begin, at, '.') != at)) break;  // `read_number` finds the sign
        if (others != 0 && (at = skip_others(at, others, mark, second)) == nullptr) break;
        if (*at == '\r') ++at;
        if (*at != '\n' || user - first >= ends[0] || item - first >= ends[1]) break;
        highest[0] = std::max(highest[0], user - first + 1);
        highest[1] = std::max(highest[1], item - first + 1);
        made_.all.push_back(
            {static_cast<std::uint32_t>(user - first), static_cast<std::uint32_t>(item - first), value});
        row = at + 1;
      }
      ids_[0] = highest[0];
      ids_[1] = highest[1];
      read = rows;
      memory_.require(made_.all.size() * sizeof(rating));
      return row;
    });
  }

  /// Returns where the line ends, or null where it has not so many fields more, quotes, or more than 1000 bytes.
  static char const* skip_others(char const* at, std::size_t others, char mark, char second) noexcept {
    char const* const begin = at;
    std::size_t found = 0;
    for (; *at != '\n'; ++at) {
      if (*at == '"') return nullptr;
      if (*at != mark || (second != '\0' && at[1] != second)) continue;
      ++found;
      at += second != '\0' ? 1 : 0;
    }
    return found == others && at - begin <= 1000 ? at : nullptr;
  }

  std::string place(std::size_t part) const { return column_text(text_.dialect(), columns_.at[part]); }

  std::string wanted(std::size_t part) const {
    if (part == 2) return "a rating, a finite number that fits a float";
    return std::string{"the id of "} + (part == 1 ? "an item" : "a user") + ", a whole number from " +
           std::to_string(first_id_);
  }

  [[noreturn]] void refuse_field(std::size_t part, std::string_view field) const {
    double number = 0;
    bool const text = part < 2 && !field.empty() && lull::read_number(field, number) == number_reading::no_number;
    text_.refuse(place(part) +
                 (field.empty() ? " is empty: expected " + wanted(part)
                                : ": expected " + wanted(part) + ", got " + quote(field)) +
                 (text ? "; number ids that are text, for example: t = pandas.read_csv(FILE); "
                         "t[NAME] = pandas.factorize(t[NAME])[0]; t.to_csv(OUT, index=False)"
                       : ""));
  }

  std::uint32_t id_of(text_record const& record, std::size_t part) {
    std::string_view const field = record.fields[columns_.at[part]];
    std::uint64_t id = 0;
    if (lull::read_number(field, id) != number_reading::number || id < first_id_) refuse_field(part, field);
    if (size_ && id > (part == 0 ? size_->rows : size_->columns))
      text_.refuse(place(part) + ": " + std::to_string(id) + " is larger than the declared number of " +
                   (part == 0 ? "rows" : "columns"));
    if (!size_ && id >= limits_.max_ids)
      text_.refuse(place(part) + ": " + rating_parts[part] + " " + std::to_string(id) +
                   " is not below the limit max_ids = " + std::to_string(limits_.max_ids));
    ids_[part] = std::max(ids_[part], id - first_id_ + 1);
    return static_cast<std::uint32_t>(id - first_id_);
  }

  float value_of(text_record const& record) {
    std::string_view const field = record.fields[columns_.at[2]];
    float value = 0;
    if (text_.read_number(field, value) != number_reading::number || !std::isfinite(value)) refuse_field(2, field);
    return value;
  }

  rating_limits const& limits_;
  file_memory memory_;
  delimited_text text_;
  std::uint64_t const first_id_;
  std::string delimiter_;
  rating_columns columns_;
  std::optional<detail::matrix_header> const size_;
  ratings made_;
  std::uint64_t ids_[2] = {};  // one more than the highest
};

/// The header of a Matrix Market file of values; none for another text.
std::optional<detail::matrix_header> matrix_header_of(std::string const& path, std::uint64_t max_bytes) {
  text_source source{path, max_bytes};
  std::string_view const start = source.peek(std::min<std::uint64_t>(text_block_bytes - 1, max_bytes));
  if (!start.starts_with("%%MatrixMarket")) return std::nullopt;
  if (ends_lines_at_returns(start)) source.end_lines_at_returns();
  auto const made = detail::read_matrix_header(path, source);
  if (made.pattern) throw input_error(path, 1, "a pattern has no values, and ratings need some: write real or integer");
  return made;
}

ratings read_checked(std::string const& path, rating_limits const& limits, rating_format const& format) {
  auto const matrix = matrix_header_of(path, limits.max_bytes);
  if (!matrix) return rating_reader{path, limits, format, matrix}.read();
  if (!format.columns.empty()) throw usage_error("columns=" + format.columns + " is for delimited text, not " + path);
  rating_format const of_matrix{.columns = {}, .dialect = {.delimiter = " ", .header = false, .decimal = '.'}};
  return rating_reader{path, limits, of_matrix, matrix}.read();
}

}  // namespace

ratings read_ratings(std::string const& path, rating_limits const& limits, rating_format const& format) {
  try {
    return read_checked(path, limits, format);
  } catch (text_error const& fault) {
    throw input_error(path, 0, fault.what());
  } catch (std::bad_alloc const&) {
    throw limit_error(path + ": not enough memory for these ratings on this computer");
  }
}

}  // namespace lull
