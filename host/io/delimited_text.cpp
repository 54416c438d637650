// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/delimited_text.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/foreign_file.hpp>
#include <lull/host/io/stray_line.hpp>
#include <lull/host/io/text_sample.hpp>

namespace lull {
namespace {

bool is_comment(std::string_view line) { return line.starts_with('#') || line.starts_with('%'); }

/// The text of a comment, without the marks before it.
std::string_view without_marks(std::string_view comment) {
  return comment.substr(std::min(comment.find_first_not_of("#%"), comment.size()));
}

/// Whether the comment is the first line of the KONECT collection: `% bip weighted`.
bool is_konect(std::string_view comment) {
  comment.remove_prefix(std::min(comment.find_first_not_of(' '), comment.size()));
  return comment.starts_with("bip ") || comment.starts_with("sym ") || comment.starts_with("asym ");
}

/// Whether the first line ends in a carriage return alone.
bool ends_at_return(std::string_view text) {
  bool quoted = false;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (quoted) continue;
    if (text[at] == '\n') return false;
    if (text[at] == '\r') return text[at + 1] != '\n';
  }
  return false;
}

}  // namespace

delimited_text::delimited_text(std::string path, dialect_options const& given, delimited_limits const& limits)
    : path_(std::move(path)),
      limits_(limits),
      source_(path_, limits.max_bytes),
      block_{.bytes = std::vector<char>(source_.block_bytes(std::max(text_block_bytes, 2 * limits.max_line_bytes)))},
      comments_(given.comments) {
  begin(given);
}

void delimited_text::begin(dialect_options const& given) {
  constexpr std::size_t sample_bytes = 128UL * 1024;
  std::string_view sample = source_.peek(sample_bytes);
  if (std::count(sample.begin(), sample.end(), '\n') < 4) sample = source_.peek(block_.bytes.size() - 1);
  if ((returns_ = ends_at_return(sample))) {
    source_.end_lines_at_returns();
    sample = source_.peek(0);
  }
  if (sample.substr(0, sample.find('\n')).find('\0') != sample.npos)
    refuse_at(0, "holds a zero byte: this is not a text file");
  std::string named;
  std::size_t skipped = take_delimiter_line(sample, given, named);
  // Lines before the first row are comments or blank; they are skipped here alone.
  std::string_view comment;  // the last line that is skipped, if it is one
  for (;;) {
    std::string_view const line = sample.substr(skipped, sample.find('\n', skipped) - skipped);
    if (skipped + line.size() >= sample.size() || (!is_comment(line) && !is_blank_line(line, " "))) break;
    comment = is_comment(line) ? sample.substr(skipped, line.size() + 1) : std::string_view{};
    skipped += line.size() + 1;
    ++lines_;
  }
  std::string_view const rows = sample.substr(skipped);
  bool const cut = sample.size() + byte_order_mark.size() >= sample_bytes && rows.rfind('\n') != rows.npos;
  std::string text{rows.substr(0, cut ? rows.rfind('\n') + 1 : rows.size())};
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  if (auto const fault = foreign_table_fault(text); !fault.empty()) refuse_at(0, fault);
  dialect_options wanted = given;
  if (!named.empty()) wanted.delimiter = named;
  std::string const names{without_marks(comment)};
  bool const may_name = comments_ == comment_lines::before_rows && !is_konect(names);
  if (may_name && find_commented_header(names, text, wanted, dialect_)) {
    skipped -= names.size();  // it is read as the first row
    --lines_;
  } else {
    dialect_ = find_dialect(text, wanted);
  }
  dialect_.delimiter_line = !named.empty();
  source_.drop(skipped);
}

/// Returns how many bytes the line `sep=;` takes, if the text begins with it, and sets the delimiter that it names.
std::size_t delimited_text::take_delimiter_line(std::string_view sample, dialect_options const& given,
                                                std::string& named) {
  auto const end = sample.find('\n');
  if (end == sample.npos || !find_delimiter_line(sample.substr(0, end), named)) return 0;
  if (named.empty())
    refuse_at(1, "names a delimiter that no table may have here: delete the line, and give delimiter=");
  if (!given.delimiter.empty() && given.delimiter != named)
    refuse_at(1, quote(sample.substr(0, end)) +
                     " names another delimiter than delimiter= does: delete the line, or leave "
                     "delimiter= out");
  ++lines_;
  return end + 1;
}

std::uint64_t delimited_text::expect(text_marks marks) {
  std::string bytes{returns_ ? "\r" : "\n"};
  if (marks == text_marks::field_ends) bytes += dialect_.delimiter;
  return source_.expect(bytes);
}

bool delimited_text::fill() {
  if (at_ != block_.size) return true;
  at_ = 0;
  if (take_block()) return true;
  block_.size = 0;
  return false;
}

/// Zero bytes are looked for here once, so that no reader of simple rows passes one over.
bool delimited_text::take_block() {
  if (!source_.next(block_)) return false;
  std::string_view const text = block_.text();
  if (auto const zero = text.find('\0'); zero != text.npos) {
    auto const lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
    refuse_at(lines_ + static_cast<std::uint64_t>(lines) + 1, "holds a zero byte: the file is damaged, or no text");
  }
  return true;
}

std::string_view delimited_text::rest() {
  if (dialect_.header && !header_read_) return {};  // `next` comes first
  return fill() ? block_.text().substr(at_) : std::string_view{};
}

void delimited_text::advance(char const* to, std::uint64_t lines) {
  at_ = static_cast<std::size_t>(to - block_.bytes.data());
  lines_ += lines;
}

bool delimited_text::read_record(text_record& record) {
  while (fill()) {
    char const* const begin = block_.bytes.data() + at_;
    char const* const end = block_.bytes.data() + block_.size;
    auto const* const line_end =
        static_cast<char const*>(std::memchr(begin, '\n', static_cast<std::size_t>(end - begin)));
    record_line_ = lines_ + 1;
    auto const too_long = [&] {
      refuse_at(record_line_, "a line of more than " + std::to_string(limits_.max_line_bytes) + " bytes");
    };
    if (line_end == nullptr || static_cast<std::size_t>(line_end - begin) > limits_.max_line_bytes) too_long();
    std::string_view const line{begin, static_cast<std::size_t>(line_end - begin)};
    if (is_blank_line(line, dialect_.delimiter) || (comments_ == comment_lines::anywhere && is_comment(line))) {
      at_ = static_cast<std::size_t>(line_end + 1 - block_.bytes.data());
      ++lines_;
      continue;
    }
    divide_record(begin, end, dialect_.delimiter, record);
    if (record.end == nullptr) {  // a quoted field goes on after the block
      if (static_cast<std::size_t>(end - begin) > limits_.max_line_bytes)
        refuse_at(record_line_,
                  "a quoted field is not closed within " + std::to_string(limits_.max_line_bytes) + " bytes");
      std::string const open{begin, end};
      source_.unread(open);
      at_ = block_.size = 0;
      if (!take_block() || block_.size <= open.size()) refuse_at(record_line_, "a quoted field is not closed");
      continue;
    }
    if (static_cast<std::size_t>(record.end - begin) > limits_.max_line_bytes + 1 && record.lines > 1)
      refuse_at(record_line_,
                "a quoted field is not closed within " + std::to_string(limits_.max_line_bytes) + " bytes");
    at_ = static_cast<std::size_t>(record.end - block_.bytes.data());
    lines_ += record.lines;
    if (record.stray != 0)
      refuse_at(record_line_,
                "column " + std::to_string(record.stray) + ": text after the closing quote; a quote within is doubled");
    return true;
  }
  return false;
}

bool delimited_text::next(text_record& record) {
  if (!read_record(record)) return false;
  if (width_ == 0) {
    header_line_ = record_line_;
    if (!dialect_.fault.empty()) refuse_at(record_line_, dialect_.fault);
    width_ = dialect_.columns.size();
    bool const row_names = width_ != 0 && dialect_.columns[0].row_names;
    if (record.fields.size() + (row_names ? 1 : 0) != width_)
      refuse_at(record_line_, "the first row is too long or holds no field");
  }
  if (dialect_.header && !std::exchange(header_read_, true)) return next(record);
  record_ = &record;
  if (record.fields.size() != width_) {
    refuse(std::to_string(record.fields.size()) + " columns instead of " + std::to_string(width_) + " as in line " +
           std::to_string(header_line_));
  }
  return true;
}

void delimited_text::find_decimal(std::string_view field) {
  auto const found = detail::spelling_of(field);
  bool const comma = found == detail::spelling::with_comma;
  if (!comma && found != detail::spelling::with_point) return;
  if (comma || detail::may_group_thousands(field)) {  // what was taken is already said, so this would be taken silently
    auto const& fields = record_->fields;
    auto const at = std::find_if(fields.begin(), fields.end(), [&](auto each) { return each.data() == field.data(); });
    std::string const sign = comma ? "comma" : "point";
    refuse(column_text(dialect_, static_cast<std::size_t>(at - fields.begin())) + ": " + quote(field) + " has a " +
           sign + ", and no number in the first rows tells whether that is the decimal sign: give decimal=" + sign +
           " if it is, and write thousands without it if not");
  }
  dialect_.decimal = '.';
}

void delimited_text::refuse(std::string const& message) const {
  std::string const seems = record_ == nullptr ? "" : stray_line(record_->fields);
  bool const units = seems.empty() && record_ != nullptr && dialect_.header && record_line_ == header_line_ + 1 &&
                     std::none_of(record_->fields.begin(), record_->fields.end(),
                                  [](std::string_view field) { return detail::is_number(detail::spelling_of(field)); });
  refuse_at(record_line_, message + (seems.empty() && !units ? "" : "; the line seems to be ") +
                              (units ? "a second line of names, or of units" : seems) +
                              (seems.empty() && !units ? "" : ": delete it"));
}

void delimited_text::refuse_at(std::uint64_t line, std::string const& message) const {
  throw input_error(path_, line, message);
}

}  // namespace lull
