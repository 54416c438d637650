// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace lull::test {

/// Where there is a file system in memory, on which to flush costs nothing; otherwise where temporary files are.
inline std::string memory_folder() {
  bool const is_there = ::access("/dev/shm", W_OK) == 0;
  return is_there ? "/dev/shm/" : ::testing::TempDir();
}

/// A folder of its own for a test's files, gone when the test ends.
class test_folder {
 public:
  explicit test_folder(std::string const& in = ::testing::TempDir()) {
    std::string name = in + "lull_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
    path_ = name;
  }
  ~test_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  test_folder(test_folder const&) = delete;
  test_folder& operator=(test_folder const&) = delete;

  std::filesystem::path const& path() const noexcept { return path_; }
  std::string at(std::string const& name) const { return (path_ / name).string(); }
  std::string write(std::string const& name, std::string_view bytes) const {
    std::filesystem::remove(at(name));  // a file written over may be flushed to the disk first, milliseconds each time
    std::ofstream{at(name), std::ios::binary}.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return at(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace lull::test
