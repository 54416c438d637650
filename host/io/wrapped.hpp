// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lull {

/// Returns the number of columns of UTF-8 text, one for each character.
std::size_t columns(std::string_view text);

/// Fills up with blanks on the left to `width` columns; a text that is as wide or wider gets one blank.
std::string right_aligned(std::string_view text, std::size_t width);

/// Fits the text onto one line of at most `width` columns, three or more: control characters become '?', and the end
/// that does not fit "...".
std::string shortened(std::string text, std::size_t width);

/// Breaks text between words into lines of at most `width` columns; each ends with a line feed. The first line starts
/// after `indent` columns (fewer than `width`) that are already printed; the others begin with as many blanks. A word
/// that is wider than a line is broken, too.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

}  // namespace lull
