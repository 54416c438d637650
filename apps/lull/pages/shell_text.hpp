// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lull {

/// A word of a command as a shell takes it, quoted only where it has to be.
inline std::string in_shell(std::string_view word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string{word};
  std::string made = "'";
  for (char const c : word) made += c == '\'' ? "'\\''" : std::string{c};
  return made + "'";
}

}  // namespace lull
