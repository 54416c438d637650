// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/wrapped.hpp>

#include <algorithm>

namespace lull {

std::size_t columns(std::string_view text) {
  auto const begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string lines;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = std::min(text.find(' ', at), text.size());
    std::string_view const word = text.substr(at, end - at);
    if (at != 0 && column + 1 + columns(word) > width) {
      lines += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (at != 0) {
      lines += ' ';
      ++column;
    }
    column += columns(word);
    lines += word;
    at = end + 1;
  }
  return lines + '\n';
}

}  // namespace lull
