// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace lull {

/// The most vertices that a list may name.
inline constexpr std::size_t max_listed_vertices = std::size_t{1} << 20;

/// Reads the vertices that a file names, one id a line, in its order, the same one again where the file does so. Blank
/// lines and those that begin with `#` count for nothing; it may be packed with gzip. Each must be below
/// `vertices`, counted from `first_id`, but are returned counted from 0. Throws input_error, with the line, for
/// anything else, and for a file that names none or too many.
std::vector<std::uint32_t> read_vertex_list(std::filesystem::path const& file, std::uint64_t vertices,
                                            std::uint32_t first_id = 0);

}  // namespace lull
