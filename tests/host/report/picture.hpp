// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lull {

inline std::size_t count(std::string const& text, std::string const& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

inline bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Empty, or what keeps the text from being XML: every tag closed in order, no stray < or &.
inline std::string malformed(std::string const& text) {
  std::vector<std::string> open;
  std::size_t at = text.find("?>") + 2;
  while (at < text.size()) {
    if (text[at] == '&') {
      auto const end = text.find(';', at);
      if (end == std::string::npos || end - at > 6) return "stray &";
    }
    if (text[at] != '<') {
      ++at;
      continue;
    }
    auto const end = text.find('>', at);
    if (end == std::string::npos) return "a tag is not closed";
    std::string const tag = text.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) return "stray <";
    if (count(tag, "\"") % 2 != 0) return "odd quotes in " + tag;
    std::string const name = tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" /", 1) - (tag[0] == '/' ? 1 : 0));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != name) return "</" + name + "> closes nothing";
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end + 1;
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

}  // namespace lull
