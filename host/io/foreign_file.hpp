// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lull {

/// Bytes from the beginning of a file that tell what it is.
inline constexpr std::size_t foreign_beginning = 512;

/// Says that a failed download left these bytes in place of the file, a web page or a pointer of Git LFS, and what to
/// do. Empty: neither.
std::string download_fault(std::string_view beginning);

/// Says what a file is that begins with these bytes and holds no text that Lull reads, and what to do: an archive, a
/// packed file, what `download_fault` knows. Empty: none of those that are known.
std::string foreign_file_fault(std::string_view beginning);

/// Says that a text whose first line that is no comment begins these bytes is a table of another format: JSON, ARFF,
/// LIBSVM. Empty: it is none of them.
std::string foreign_table_fault(std::string_view beginning);

/// Says that a text is in UTF-16 or UTF-32, and what to do. Empty: it has no such mark.
std::string encoding_fault(std::string_view beginning);

}  // namespace lull
