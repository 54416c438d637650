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

/// Has `make` make a file or a folder under a hidden name beside `to`, and renames it. Where `make` returns false or
/// throws, nothing is there. A process that is killed may leave the hidden name. Returns what `make` did. Errors:
/// usage_error where `to` is there and must not be replaced, or its own folder is not there; device_error;
/// std::filesystem::filesystem_error.
bool make_whole(std::filesystem::path const& to, existing what,
                std::function<bool(std::filesystem::path const& hidden)> const& make);

/// Copies a file, or a folder with all that is in it, under the name `to`. The copy is there whole and on the disk, or
/// not at all: it is made under a hidden name beside it and renamed. Links stay links. Where `is_stopped` returns true
/// before it is complete, nothing is there, and the call returns false. Errors: as of make_whole, and usage_error where
/// something is neither file, folder nor link.
bool copy_whole(std::filesystem::path const& from, std::filesystem::path const& to, existing what,
                std::function<bool()> const& is_stopped);

}  // namespace lull::queue
