// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lull {

struct vertex_names {
  std::vector<std::string> names;  // (vertices,)
  std::string note{};              // how the lines were read; empty: a name a line
};

/// Reads a name a line, the lowest vertex first. If each line begins with another vertex's number and a tab, comma or
/// semicolon, that number says whose name follows; `first_id` is the number of the lowest vertex. Otherwise a line may
/// hold anything: a delimiter, a quote, a blank and a # may be parts of a name, an empty line is the name of a vertex,
/// and the first line is a name, not a heading. Lines end in LF, CRLF or CR. Blank lines at the end are ignored. Throws
/// input_error with file and line.
vertex_names read_vertex_names(std::filesystem::path const& file, std::uint32_t vertices, std::uint32_t first_id);

}  // namespace lull
