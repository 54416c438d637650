// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/tasks/images/codec/image.hpp>
#include <string>
#include <string_view>

namespace lull::detail {

/// A regular file that holds an image, read from front to back. Not thread-safe.
class image_file {
 public:
  /// Throws input_error if the file is missing or cannot hold an image, or its name and content differ.
  explicit image_file(std::string const& path);
  ~image_file();
  image_file(image_file const&) = delete;
  image_file& operator=(image_file const&) = delete;

  std::string const& path() const noexcept { return path_; }
  image_kind kind() const noexcept { return kind_; }

  /// Returns fewer bytes than asked for only at the end, or on an error of the system (`error()`). For callbacks of C
  /// libraries.
  std::size_t read(void* to, std::size_t bytes) noexcept;
  /// Reads likewise from a place in the file, and leaves where `read` goes on.
  std::size_t read_at(std::uint64_t place, void* to, std::size_t bytes) noexcept;

  /// Ends the file before zeros that fill its end. They are what a download or a repair reserved, but a JPEG's decoder
  /// would take them for pixels. Keeps a zero after 0xFF, which belongs to it there. Call it before `read`.
  void leave_out_zeros() noexcept;

  /// Returns errno of the system's error, or 0.
  int error() const noexcept { return error_; }

 private:
  image_kind find_kind();
  template <class Read>
  std::size_t read_all(void* to, std::size_t bytes, Read const& read) noexcept;

  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
  int error_ = 0;
  std::uint64_t bytes_left_ = 0;  // of the limit on a file's size; a file may grow while it is read
  image_kind kind_{};
};

/// Returns the name of the format of a picture that begins so; empty: of none that is known.
std::string picture_format(std::string_view beginning);
constexpr std::size_t picture_beginning = 16;  // bytes that it looks at

}  // namespace lull::detail
