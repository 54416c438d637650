// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <lull/tasks/images/codec/image.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lull::test {

inline std::string bytes_of(std::string const& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Returns an image with random numbers.
inline image noise(image_shape const& shape, unsigned seed) {
  std::mt19937 random{seed};
  image made{shape, std::vector<std::uint8_t>(shape.bytes()), {}};
  for (auto& byte : made.pixels) {
    byte = static_cast<std::uint8_t>(random());
  }
  return made;
}

/// Returns an image of 8 bits with these numbers.
inline image of_numbers(std::uint32_t width, std::uint8_t channels, std::vector<std::uint8_t> numbers) {
  auto const height = static_cast<std::uint32_t>(numbers.size() / width / channels);
  return {{width, height, channels, 8}, std::move(numbers), {}};
}

inline image mirrored(image from) {
  auto const bytes = from.shape.pixel_bytes();
  auto const old = from.pixels;
  for (std::size_t y = 0; y < from.shape.height; ++y) {
    for (std::size_t x = 0; x < from.shape.width; ++x) {
      auto const source = old.begin() + static_cast<std::ptrdiff_t>((y * from.shape.width + x) * bytes);
      std::copy_n(source, bytes, from.pixels.data() + (y * from.shape.width + from.shape.width - 1 - x) * bytes);
    }
  }
  return from;
}

inline image clockwise(image from) {
  auto const bytes = from.shape.pixel_bytes();
  auto const old = from.pixels;
  std::swap(from.shape.width, from.shape.height);
  auto* to = from.pixels.data();
  for (std::size_t y = 0; y < from.shape.height; ++y) {
    for (std::size_t x = 0; x < from.shape.width; ++x, to += bytes) {
      auto const source = ((from.shape.width - 1 - x) * from.shape.height + y) * bytes;
      std::copy_n(old.begin() + static_cast<std::ptrdiff_t>(source), bytes, to);
    }
  }
  return from;
}

/// Returns the upright image of one that is stored with this orientation.
inline image upright(unsigned orientation, image const& stored) {
  switch (orientation) {
    case 2:
      return mirrored(stored);
    case 3:
      return clockwise(clockwise(stored));
    case 4:
      return mirrored(clockwise(clockwise(stored)));
    case 5:
      return clockwise(clockwise(clockwise(mirrored(stored))));
    case 6:
      return clockwise(stored);
    case 7:
      return clockwise(mirrored(stored));
    case 8:
      return clockwise(clockwise(clockwise(stored)));
    default:
      return stored;
  }
}

}  // namespace lull::test
