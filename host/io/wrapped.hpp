// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lull {

/// Of UTF-8: its characters, each taken to be one column wide.
std::size_t columns(std::string_view text);

/// Behind blanks, in so many columns; one that is as wide, or wider, has one blank before it.
std::string right_aligned(std::string_view text, std::size_t width);

/// On one line of at most `width` columns, three or more: a control character becomes '?', and the end that does not
/// fit
/// "...".
std::string shortened(std::string text, std::size_t width);

/// Breaks text between words into lines of at most `width` columns; each ends with a line feed. The first goes on
/// behind `indent` columns (fewer than `width`) that stand already, the others begin with as many blanks. A word that
/// is wider than a line is broken, too.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

}  // namespace lull
