// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <lull/tasks/images/codec/image.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

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

}  // namespace lull::test
