// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <lull/tasks/images/image.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lull::test {

/// A folder of its own for a test's files, gone when the test ends.
class image_folder {
 public:
  image_folder() {
    std::string name = ::testing::TempDir() + "lull_images_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("no temporary folder: " + name);
    }
    path_ = name;
  }
  ~image_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  image_folder(image_folder const&) = delete;
  image_folder& operator=(image_folder const&) = delete;

  std::string at(std::string const& name) const { return (path_ / name).string(); }
  std::string write(std::string const& name, std::string_view bytes) const {
    std::filesystem::remove(at(name));  // a file written over may be flushed to the disk first, milliseconds each time
    std::ofstream{at(name), std::ios::binary}.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return at(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(std::string const& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Any number in any place.
inline image noise(image_shape const& shape, unsigned seed) {
  std::mt19937 random{seed};
  image made{shape, std::vector<std::uint8_t>(shape.bytes()), {}};
  for (auto& byte : made.pixels) {
    byte = static_cast<std::uint8_t>(random());
  }
  return made;
}

/// 8 bits, from numbers.
inline image of_numbers(std::uint32_t width, std::uint8_t channels, std::vector<std::uint8_t> numbers) {
  auto const height = static_cast<std::uint32_t>(numbers.size() / width / channels);
  return {{width, height, channels, 8}, std::move(numbers), {}};
}

}  // namespace lull::test
