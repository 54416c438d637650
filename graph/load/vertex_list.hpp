// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lull {

/// The most vertices that a list may name.
inline constexpr std::size_t max_listed_vertices = std::size_t{1} << 20;

/// Reads the vertices that a file names, one id a line, in its order, the same one again where the file does so. It is
/// a table of one column (delimited_text), so the column may have a name, ids may be quoted, and a column of row
/// numbers is left out; `taken` gets a line that says so, or nothing. Lines that begin with `#` or `%` are comments.
/// Each vertex must be below `vertices`, counted from `first_id`, but is returned counted from 0. Throws input_error,
/// with the line, for anything else, and for a file that names none or too many.
std::vector<std::uint32_t> read_vertex_list(std::filesystem::path const& file, std::uint64_t vertices,
                                            std::uint32_t first_id = 0, std::string* taken = nullptr);

}  // namespace lull
