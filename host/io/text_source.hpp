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

/// The text cannot be read; says why, not where. The reader of the whole file adds its name.
class text_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Some whole lines of text, each with its end: the last byte is always a line feed.
struct text_block {
  std::vector<char> bytes = std::vector<char>(text_block_bytes);  // more, for a reader that allows longer lines
  std::size_t size = 0;

  std::string_view text() const noexcept { return {bytes.data(), size}; }
};

enum class compression { none, gzip };

/// A file's text from front to back, in blocks of whole lines, decompressed. Not thread-safe.
class text_source {
 public:
  /// Throws text_error if there is no such regular file, or it cannot be opened.
  text_source(std::string const& path, compression packing, std::uint64_t max_bytes);
  ~text_source();
  text_source(text_source const&) = delete;
  text_source& operator=(text_source const&) = delete;

  /// Fills the block; false at the end of the text. A last line without an end gets one. A line that fills a whole
  /// block is cut there, and is the last thing given: it is over the limit, which is for who reads lines to say.
  /// Throws text_error on damaged, truncated or too much text.
  bool next(text_block& block);

  /// How many bytes of the text are one of `marks`, line ends for example: from the size of the file and the sample
  /// with the fewest, of those at the beginning, in the middle and at the end. Never a guess of a ratio: compressed
  /// text counts as no longer than its file, and only its beginning is a sample. Throws as `next` does.
  std::uint64_t expect(std::string_view marks);

  /// Puts text back in front of what comes next: the rest of the block that `next` gave last.
  void unread(std::string_view rest);

 private:
  class file;
  class inflater;

  std::size_t read(char* to, std::size_t bytes);

  std::unique_ptr<file> file_;
  std::unique_ptr<inflater> inflater_;  // null: the text is plain
  std::string carry_;                   // the beginning of the next block
  std::uint64_t bytes_left_;
  bool ended_ = false;
};

/// Text of the file as a message may quote it: cut after 40 bytes, bytes that are no printable ASCII shown as `?`.
std::string quote(std::string_view text);

}  // namespace lull
