// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/wrapped.hpp>

#include <algorithm>

namespace lull {

namespace {

bool begins(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }

/// Returns the bytes of the first `count` characters; the text has more.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (std::size_t found = 0; found <= count; ++at) found += begins(text[at]) ? 1 : 0;
  return at - 1;
}

}  // namespace

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

std::string right_aligned(std::string_view text, std::size_t width) {
  std::size_t const taken = columns(text);
  return std::string(taken < width ? width - taken : 1, ' ').append(text);
}

std::string shortened(std::string text, std::size_t width) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7f; }, '?');
  if (columns(text) > width) {
    while (columns(text) + 3 > width) text.pop_back();
    text += "...";
  }
  return text;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string lines;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, end - at);
    if (at != 0 && column + 1 + columns(word) > width) {
      lines += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (at != 0) {
      lines += ' ';
      ++column;
    }
    for (; column + columns(word) > width; column = indent) {  // the word starts a line
      std::size_t const fits = bytes_of(word, width - column);
      lines += std::string{word.substr(0, fits)} + '\n' + std::string(indent, ' ');
      word.remove_prefix(fits);
    }
    column += columns(word);
    lines += word;
    at = end + 1;
  }
  return lines + '\n';
}

}  // namespace lull
