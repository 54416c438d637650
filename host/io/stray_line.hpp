// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lull {

/// Says what a line within a table seems to be that is no row of it, by its fields: "a comment", "a total or a summary
/// of the table". Empty: it may be a row. For errors alone: a row of a table may look so, too.
std::string stray_line(std::vector<std::string_view> const& fields);

/// Finds the delimiter that a line `sep=;` names, as Excel has it before a table. Returns false for any other line;
/// `delimiter` is empty where it names none that a table may have.
bool find_delimiter_line(std::string_view line, std::string& delimiter);

}  // namespace lull
