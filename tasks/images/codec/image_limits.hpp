// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace lull {

inline constexpr std::uint32_t max_image_side = 32768;             // pixels, of width and of height
inline constexpr std::uint64_t max_image_file_bytes = 1ULL << 30;  // a file of more is not opened
inline constexpr std::size_t max_metadata_bytes = 1UL << 24;       // a PNG's chunk, or all before a JPEG's image data
inline constexpr int max_jpeg_scans = 500;                         // of a progressive one; real ones have about ten
inline constexpr int max_png_chunks = 1 << 20;                     // a file of 1 GiB has 131,072 of libpng's

}  // namespace lull
