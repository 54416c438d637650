// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lull::test {

/// A PNG with its numbers as in the file.
struct raw_png {
  std::uint32_t width;
  std::uint32_t height;
  int type;   // PNG_COLOR_TYPE_…
  int depth;  // bits of a number
  int interlace = PNG_INTERLACE_NONE;
  std::vector<std::uint16_t> numbers;  // (height, width, channels), each below 2^depth
  std::vector<png_color> palette = {};
  std::vector<png_byte> palette_alpha = {};
  bool has_key = false;  // the one transparent colour of an image without alpha
  png_color_16 key = {};

  std::size_t channels() const {
    return type == PNG_COLOR_TYPE_PALETTE ? 1 : (type & 2 ? 3 : 1) + (type & 4 ? 1U : 0U);
  }
};

/// Returns the file's bytes. Errors of libpng end the test.
inline std::string encoded(raw_png const& from) {
  std::string bytes;
  auto* png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  auto* info = png_create_info_struct(png);
  auto const append = [](png_structp to, png_bytep data, std::size_t count) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<char const*>(data), count);
  };
  png_set_write_fn(png, &bytes, append, [](png_structp) {});
  png_set_IHDR(png, info, from.width, from.height, from.depth, from.type, from.interlace, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!from.palette.empty()) {
    png_set_PLTE(png, info, from.palette.data(), static_cast<int>(from.palette.size()));
  }
  if (from.has_key || !from.palette_alpha.empty()) {
    png_set_tRNS(png, info, from.palette_alpha.data(), static_cast<int>(from.palette_alpha.size()), &from.key);
  }
  // Packs rows by hand, so that the reader's unpacking is not compared with libpng's own packing.
  auto const row_numbers = from.width * from.channels();
  std::vector<std::vector<png_byte>> rows;
  std::vector<png_bytep> pointers;
  for (std::uint32_t row = 0; row < from.height; ++row) {
    auto& packed = rows.emplace_back((row_numbers * static_cast<std::size_t>(from.depth) + 7) / 8);
    for (std::size_t at = 0; at < row_numbers; ++at) {
      auto const number = from.numbers[row * row_numbers + at];
      if (from.depth == 16) {
        packed[2 * at] = static_cast<png_byte>(number >> 8);
        packed[2 * at + 1] = static_cast<png_byte>(number);
      } else {
        auto const bit = at * static_cast<std::size_t>(from.depth);
        auto const shift = 8 - from.depth - static_cast<int>(bit % 8);
        packed[bit / 8] = static_cast<png_byte>(packed[bit / 8] | number << shift);
      }
    }
  }
  for (auto& row : rows) {
    pointers.push_back(row.data());
  }
  png_write_info(png, info);
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

/// A whole picture in which each pixel is another.
inline std::string small_grey_png() {
  std::vector<std::uint16_t> numbers;
  for (std::uint16_t number = 0; number < 6 * 4; ++number) numbers.push_back(static_cast<std::uint16_t>(number * 9));
  return encoded({.width = 6, .height = 4, .type = PNG_COLOR_TYPE_GRAY, .depth = 8, .numbers = numbers});
}

/// Returns a chunk of a PNG, with its checksum.
inline std::string chunk(std::string const& type, std::string const& content) {
  auto const number = [](std::uint32_t value) {
    return std::string{static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
                       static_cast<char>(value)};
  };
  std::uint32_t sum = ~0U;
  for (unsigned char const byte : type + content) {
    sum ^= byte;
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum & 1) != 0 ? 0xedb88320U ^ sum >> 1 : sum >> 1;
    }
  }
  return number(static_cast<std::uint32_t>(content.size())) + type + content + number(~sum);
}

/// Returns the PNG with chunks after its header, before everything else.
inline std::string with_chunk_after_header(std::string png, std::string const& chunks) {
  constexpr std::size_t header_end = 8 + 25;
  return png.insert(header_end, chunks);
}
/// Returns the PNG with chunks before its end mark.
inline std::string with_chunk_after_pixels(std::string png, std::string const& chunks) {
  constexpr std::size_t end_mark = 12;
  return png.insert(png.size() - end_mark, chunks);
}

}  // namespace lull::test
