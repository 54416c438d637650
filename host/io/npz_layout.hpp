// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <lull/host/io/npz_array.hpp>

namespace lull::detail {

// The bytes of an .npz file but for the data: both the writer and the reader, which compares, have them from here, so a
// file has one form only. In order: for each member its opening, its data and its closing; then an entry for each
// member; then the end. Sizes and checksum stand behind the data (flag 3 of the zip format), for programs that write in
// one go does not know the checksum before.
//
// Sources: PKWARE, APPNOTE 6.3.10, .ZIP file format specification, §4.3 to 4.5; NumPy enhancement proposal 1, the .npy
// format, 1.0.

/// A member as the zip format sees it.
struct npz_member {
  npz_array array = {};
  std::uint64_t offset = 0;  // of the member in the file
  std::uint32_t crc = 0;     // CRC-32 of the .npy header and the data
  bool zip64 = false;        // size and offset are 64-bit fields
};

/// Where the entries stand.
struct npz_directory {
  std::uint64_t members = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool zip64 = false;
};

inline constexpr std::uint64_t zip32_bytes = 0xFFFF'FFFF;  // sizes and offsets from here on need zip64
inline constexpr std::uint64_t max_npz_members = 0xFFFE;

inline constexpr std::size_t zip_header_bytes = 30;  // without name and extra field
inline constexpr std::size_t zip_entry_bytes = 46;   // likewise
inline constexpr std::size_t zip_end_bytes = 22;
inline constexpr std::size_t zip64_end_bytes = 56 + 20 + zip_end_bytes;
inline constexpr std::size_t max_name_bytes = 132;  // with the ending .npy
inline constexpr std::size_t max_extra_bytes = 28;
inline constexpr std::size_t max_npy_header_bytes = 384;

/// The .npy header, magic and padding included: a multiple of 64 bytes.
std::string npy_header(npz_array const& array);
/// What NumPy's header says, if it may be ours: to be made again and compared. The name is left as it is.
bool parse_npy_header(std::string_view bytes, npz_array& array);

/// The bytes of the .npy file inside: header and data.
std::uint64_t content_bytes(npz_array const& array);

/// Zip header and .npy header.
std::string opening_of(npz_member const& member);
std::string closing_of(npz_member const& member);
std::string entry_of(npz_member const& member);
std::string end_of(npz_directory const& directory);

/// A little-endian number that stands there.
std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t length);

/// Each of these is the first four bytes of what it names.
inline constexpr std::uint32_t zip_header_mark = 0x04034b50;
inline constexpr std::uint32_t zip_closing_mark = 0x08074b50;
inline constexpr std::uint32_t zip_entry_mark = 0x02014b50;
inline constexpr std::uint32_t zip64_end_mark = 0x06064b50;
inline constexpr std::uint32_t zip64_locator_mark = 0x07064b50;
inline constexpr std::uint32_t zip_end_mark = 0x06054b50;

}  // namespace lull::detail
