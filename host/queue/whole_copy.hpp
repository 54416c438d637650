// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace lull::queue {

/// Returns how many bytes a file holds, or all files of a folder do. Links count nothing. Throws
/// std::filesystem::filesystem_error.
std::uintmax_t bytes_of(std::filesystem::path const& path);

enum class existing { refuse, replace };

/// Copies a file, or a folder with all that is in it, under the name `to`. The copy is there whole and on the disk, or
/// not at all: it is made under a hidden name beside it and renamed. Links stay links. A process that is killed may
/// leave the hidden name. Where `is_stopped` returns true before it is complete, nothing is there, and the call returns
/// false. Errors: usage_error where `to` is there and must not be replaced, or where something is
/// neither file, folder nor link; device_error; std::filesystem::filesystem_error.
bool copy_whole(std::filesystem::path const& from, std::filesystem::path const& to, existing what,
                std::function<bool()> const& is_stopped);

}  // namespace lull::queue
