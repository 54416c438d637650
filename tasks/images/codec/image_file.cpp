// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/image_file.hpp>
#include <lull/tasks/images/codec/image_limits.hpp>
#include <lull/tasks/images/codec/read_image.hpp>
#include <string_view>
#include <system_error>

namespace lull::detail {
namespace {

using namespace std::string_view_literals;

constexpr auto png_beginning = "\x89PNG\r\n\x1a\n"sv;
constexpr auto jpeg_beginning = "\xff\xd8\xff"sv;

std::string reason(int code) { return std::generic_category().message(code); }

}  // namespace

image_file::image_file(std::string const& path)
    // Not blocking: opening a pipe would wait for a writer. A regular file does not differ.
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) {
    throw input_error(path, 0, "cannot be opened: " + reason(errno));
  }
  try {
    kind_ = find_kind();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

image_file::~image_file() { ::close(descriptor_); }

image_kind image_file::find_kind() {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    throw input_error(path_, 0, "is not a regular file");
  }
  if (status.st_size == 0) {
    throw input_error(path_, 0, "is empty");
  }
  if (static_cast<std::uint64_t>(status.st_size) > max_image_file_bytes) {
    throw input_error(path_, 0, "is larger than the " + std::to_string(max_image_file_bytes) + " bytes allowed");
  }
  bytes_left_ = max_image_file_bytes;
  std::array<char, png_beginning.size()> bytes{};
  std::string_view const beginning{bytes.data(), read(bytes.data(), bytes.size())};
  if (error_ == 0 && ::lseek(descriptor_, 0, SEEK_SET) != 0) {
    error_ = errno;
  }
  if (error_ != 0) {
    throw input_error(path_, 0, "cannot be read: " + reason(error_));
  }
  bool const is_png = beginning == png_beginning;
  if (!is_png && !beginning.starts_with(jpeg_beginning)) {
    throw input_error(path_, 0, "is neither a PNG nor a JPEG");
  }
  auto const kind = is_png ? image_kind::png : image_kind::jpeg;
  if (image_kind_by_name(path_).value_or(kind) != kind) {
    throw input_error(
        path_, 0,
        is_png ? "is a PNG, but its name says JPEG: rename it" : "is a JPEG, but its name says PNG: rename it");
  }
  return kind;
}

std::size_t image_file::read(void* to, std::size_t bytes) noexcept {
  std::size_t got = 0;
  bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, bytes_left_));
  while (got < bytes && error_ == 0) {
    auto const more = ::read(descriptor_, static_cast<char*>(to) + got, bytes - got);
    if (more < 0 && errno == EINTR) {
      continue;
    }
    if (more < 0) {
      error_ = errno;
    }
    if (more <= 0) {
      break;
    }
    got += static_cast<std::size_t>(more);
  }
  bytes_left_ -= got;
  return got;
}

}  // namespace lull::detail
