// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>
#include <string_view>

namespace lull {

inline bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Returns the text's words, each with one blank after it.
inline std::string flowing(std::string const& text) {
  std::istringstream split{text};
  std::string flows;
  for (std::string word; split >> word;) flows += word + " ";
  return flows;
}

}  // namespace lull
