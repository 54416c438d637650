// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lull {

inline constexpr std::size_t text_block_bytes = 256UL * 1024;

/// Why the text cannot be read, without the place. The reader of the whole file adds its name.
class text_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// U+FEFF in UTF-8. One at the beginning of a text is skipped, and nobody is told. Anywhere else it is an error.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

constexpr std::string_view without_byte_order_mark(std::string_view text) noexcept {
  return text.substr(text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
}

/// Says that a line holds a byte order mark, and what to do. Empty if it has none. For readers that take any bytes: the
/// others refuse the mark as what is no number, and `quote` names it.
std::string byte_order_mark_fault(std::string_view line);

/// Returns whether a text that begins so has carriage returns for line ends, and no line feed.
constexpr bool ends_lines_at_returns(std::string_view start) noexcept {
  return start.find('\n') == start.npos && start.find('\r') != start.npos;
}

/// Whole lines of text, each with its end: the last byte is always a line feed.
struct text_block {
  std::vector<char> bytes{};  // empty: `next` makes it. Larger for a reader that allows longer lines
  std::size_t size = 0;
  std::size_t max_bytes = 0;  // `bytes` grows to so many where a line needs it

  std::string_view text() const noexcept { return {bytes.data(), size}; }
};

/// A file's text from front to back, in blocks of whole lines, decompressed where it is gzip, without the byte order
/// mark that it may begin with. Its first bytes tell, whatever its name is. As `gzip -d` does, it ignores zeros after
/// the end of the gzip data. Not thread-safe.
class text_source {
 public:
  /// Throws text_error if there is no such regular file, or it cannot be opened.
  text_source(std::string const& path, std::uint64_t max_bytes);
  ~text_source();
  text_source(text_source const&) = delete;
  text_source& operator=(text_source const&) = delete;

  /// Returns how large a block must be: so large, or less where the file is plain and smaller.
  std::size_t block_bytes(std::size_t most) const;

  /// Fills the block; returns false at the end of the text. A last line without an end gets one. A line that fills a
  /// whole block is cut there and ends the text: the reader of lines must refuse it. Throws text_error on damaged,
  /// truncated or too much text, on text in UTF-16 or UTF-32, and on what `foreign_file_fault` knows.
  bool next(text_block& block);

  /// Returns about how many bytes of the text are one of `marks`, for example line ends. It counts in samples from the
  /// start, the middle and the end of the file, and scales the smallest count to the file's size. It guesses no ratio:
  /// compressed text counts as no longer than its file, and only its start is a sample. Throws as `next` does.
  std::uint64_t expect(std::string_view marks);

  /// Returns what comes next, without taking it: `bytes` of it, fewer only at the end. Valid until the next call. A
  /// text block must have room for all of it. Throws as `next` does.
  std::string_view peek(std::size_t bytes);

  /// Drops this much of what `peek` returned, such as a byte order mark.
  void drop(std::size_t bytes);

  /// Makes a carriage return end a line from here on, as in files of old Macintoshes.
  void end_lines_at_returns();

  /// Calls `end_lines_at_returns` if the first line ends in a carriage return alone. For text without quotes.
  void take_line_ends();

  /// Puts text back before what comes next: the rest of the last block of `next`.
  void unread(std::string_view rest);

 private:
  class file;
  class inflater;

  std::size_t read(char* to, std::size_t bytes);
  std::size_t read_any(char* to, std::size_t bytes);

  bool returns_end_lines_ = false;
  std::unique_ptr<file> file_;
  std::unique_ptr<inflater> inflater_;  // null: the text is plain
  std::string carry_;                   // the beginning of the next block
  std::uint64_t bytes_left_;
  bool begun_ = false;
  bool ended_ = false;
};

/// Returns text of the file for a message: cut after 40 bytes, with `?` for bytes that are not printable ASCII. A
/// byte order mark is named.
std::string quote(std::string_view text);

}  // namespace lull
